-- Sends 16 requests at once on each connection: wrk's own way to pipeline. One response time is recorded for all 16.
init = function()
    local requests = {}
    for i = 1, 16 do
        requests[i] = wrk.format()
    end
    batch = table.concat(requests)
end

request = function()
    return batch
end
