import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerExpectContinueHandler;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2StreamFrameToHttpObjectCodec;
import java.util.List;

/** Looks at the first bytes of a connection: HTTP/2 with prior knowledge begins with its preface, else it is HTTP/1. */
final class Versions extends ByteToMessageDecoder {
    private static final ByteBuf PREFACE = Http2CodecUtil.connectionPrefaceBuf();

    private final byte[] page;

    Versions(byte[] page) {
        this.page = page;
    }

    @Override
    protected void decode(ChannelHandlerContext context, ByteBuf in, List<Object> out) {
        int length = Math.min(in.readableBytes(), PREFACE.readableBytes());
        boolean isHttp2 = ByteBufUtil.equals(in, in.readerIndex(), PREFACE, PREFACE.readerIndex(), length);
        if (isHttp2 && length < PREFACE.readableBytes()) {
            return;
        }
        ChannelPipeline pipeline = context.pipeline();
        if (isHttp2) {
            pipeline.addLast(Http2FrameCodecBuilder.forServer().build(), new Http2MultiplexHandler(stream()));
        } else {
            pipeline.addLast(
                    new HttpServerCodec(),
                    new HttpServerKeepAliveHandler(),
                    new HttpServerExpectContinueHandler(),
                    new Answers(page));
        }
        // The bytes read so far are passed on to the next handlers.
        pipeline.remove(this);
    }

    private ChannelInitializer<Channel> stream() {
        return new ChannelInitializer<>() {
            @Override
            protected void initChannel(Channel stream) {
                stream.pipeline().addLast(new Http2StreamFrameToHttpObjectCodec(true), new Answers(page));
            }
        };
    }
}
