-- Prints percentiles that wrk's own report does not have. They include wrk's synthetic correction.
done = function(summary, latency, requests)
    for _, percent in ipairs({ 50, 85, 95, 99, 99.9 }) do
        io.write(string.format("percentile %g %d us\n", percent, latency:percentile(percent)))
    end
end
