package server;

import jakarta.ws.rs.container.ContainerResponseContext;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import org.jboss.resteasy.reactive.server.ServerResponseFilter;

/** Adds `Date`, which TechEmpower's tests require and Quarkus does not send; `Server` is in application.properties. */
public class DateHeader {
    /** RFC 9110, section 5.6.7: the day has two digits, which Java's RFC_1123_DATE_TIME does not guarantee. */
    private static final DateTimeFormatter HTTP_DATE =
            DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH).withZone(ZoneOffset.UTC);

    private record Formatted(long second, String date) {}

    private volatile Formatted formatted = new Formatted(0, "");

    @ServerResponseFilter
    public void addDate(ContainerResponseContext response) {
        response.getHeaders().putSingle("Date", date());
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
