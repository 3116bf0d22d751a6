-- Prints the percentiles that wrk's own report leaves out, as wrk has them: its synthetic correction included.
done = function(summary, latency, requests)
    for _, percent in ipairs({ 50, 85, 95, 99, 99.9 }) do
        io.write(string.format("percentile %g %d us\n", percent, latency:percentile(percent)))
    end
end
