package server;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import org.springframework.http.HttpHeaders;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/** Adds `Server` and `Date`, which TechEmpower's tests require and Reactor Netty does not send. */
@Component
class ServerHeaders implements WebFilter {
    /** RFC 9110, section 5.6.7: the day has two digits, which Java's RFC_1123_DATE_TIME does not guarantee. */
    private static final DateTimeFormatter HTTP_DATE =
            DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH).withZone(ZoneOffset.UTC);

    private record Formatted(long second, String date) {}

    private volatile Formatted formatted = new Formatted(0, "");

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        HttpHeaders headers = exchange.getResponse().getHeaders();
        headers.set(HttpHeaders.SERVER, "Reactor Netty");
        headers.set(HttpHeaders.DATE, date());
        return chain.filter(exchange);
    }

    private String date() {
        Instant now = Instant.now();
        Formatted current = formatted;
        if (current.second() != now.getEpochSecond()) {
            current = new Formatted(now.getEpochSecond(), HTTP_DATE.format(now));
            formatted = current;
        }
        return current.date();
    }
}
