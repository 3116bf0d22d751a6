-- Makes another request each time, and reads each response.
local number, bytes = 0, 0

request = function()
    number = number + 1
    return wrk.format("GET", "/" .. number)
end

response = function(status, headers, body)
    bytes = bytes + #body
end
