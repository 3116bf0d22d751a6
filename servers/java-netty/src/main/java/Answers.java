import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Date;
import java.util.regex.Pattern;

/** The routes, for one connection. This handler ignores request bodies: no workload has one. */
final class Answers extends SimpleChannelInboundHandler<HttpRequest> {
    private static final int LARGEST_X = 10_000;
    private static final Pattern POWER = Pattern.compile("/tetra/([0-9]{1,5})");
    private static final ObjectMapper JSON = new ObjectMapper();

    private static volatile String date;

    private final byte[] page;

    private record Message(String message) {}

    Answers(byte[] page) {
        this.page = page;
    }

    /** Formatted once a second: formatting a date for each answer would cost more than the answer. */
    static void setDate() {
        date = DateFormatter.format(new Date());
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpRequest request) throws JsonProcessingException {
        if (request.decoderResult().isFailure()) {
            context.writeAndFlush(text(HttpResponseStatus.BAD_REQUEST, "")).addListener(ChannelFutureListener.CLOSE);
            return;
        }
        FullHttpResponse response = answer(request);
        response.headers().set(HttpHeaderNames.SERVER, "Netty").set(HttpHeaderNames.DATE, date);
        context.write(response);
    }

    /** Requests that arrived in one read are answered with one write. */
    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        context.flush();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        context.close();
    }

    private FullHttpResponse answer(HttpRequest request) throws JsonProcessingException {
        // The codec knows that an answer to HEAD has no body.
        if (!request.method().equals(HttpMethod.GET) && !request.method().equals(HttpMethod.HEAD)) {
            return text(HttpResponseStatus.METHOD_NOT_ALLOWED, "");
        }
        String path;
        try {
            path = new QueryStringDecoder(request.uri()).path();
        } catch (IllegalArgumentException badEscape) {
            return text(HttpResponseStatus.BAD_REQUEST, "the path cannot be decoded\n");
        }
        return switch (path) {
            case "/hello" -> text(HttpResponseStatus.OK, "Hello World\n");
            case "/byte" -> text(HttpResponseStatus.OK, "x");
            case "/page" -> response(HttpResponseStatus.OK, "text/plain", page);
            case "/json" -> response(
                    HttpResponseStatus.OK, "application/json", JSON.writeValueAsBytes(new Message("Hello, World!")));
            case "/plaintext" -> text(HttpResponseStatus.OK, "Hello, World!");
            case "/home" -> text(HttpResponseStatus.OK, "OK, no problema!");
            default -> path.startsWith("/tetra/") ? tetra(path) : text(HttpResponseStatus.NOT_FOUND, "no such page\n");
        };
    }

    private static FullHttpResponse tetra(String path) {
        var match = POWER.matcher(path);
        int x = match.matches() ? Integer.parseInt(match.group(1)) : -1;
        if (x < 0 || x > LARGEST_X) {
            return text(HttpResponseStatus.BAD_REQUEST, "x must be a whole number from 0 to 10000\n");
        }
        return text(HttpResponseStatus.OK, BigInteger.valueOf(x).pow(x).toString());
    }

    private static FullHttpResponse text(HttpResponseStatus status, String body) {
        return response(status, "text/plain; charset=utf-8", body.getBytes(StandardCharsets.UTF_8));
    }

    private static FullHttpResponse response(HttpResponseStatus status, String type, byte[] body) {
        var response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(body));
        response.headers().set(HttpHeaderNames.CONTENT_TYPE, type).set(HttpHeaderNames.CONTENT_LENGTH, body.length);
        return response;
    }
}
