-- Makes another request each time.
local number = 0

request = function()
    number = number + 1
    return wrk.format("GET", "/" .. number)
end
