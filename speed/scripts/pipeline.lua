-- Sends 16 requests at once on each connection, wrk's method for pipelining. It records one response time for all 16.
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
