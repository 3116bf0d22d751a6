import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerExpectContinueHandler;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Starts Netty's HTTP codec on its epoll transport; {@link Answers} has the routes. */
public final class Server {
    public static void main(String[] arguments) throws Exception {
        byte[] page = Files.readAllBytes(Path.of(System.getenv("PACELINE_WORKLOADS"), "page.txt"));
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(
                Integer.parseInt(System.getenv("EVENT_LOOPS")), EpollIoHandler.newFactory());
        loops.scheduleAtFixedRate(Answers::setDate, 0, 1, TimeUnit.SECONDS);
        new ServerBootstrap()
                .group(loops)
                .channel(EpollServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, 4096)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(
                                new HttpServerCodec(),
                                new HttpServerKeepAliveHandler(),
                                new HttpServerExpectContinueHandler(),
                                new Answers(page));
                    }
                })
                .bind(System.getenv("PACELINE_HOST"), Integer.parseInt(System.getenv("PACELINE_PORT")))
                .sync();
        Runtime.getRuntime().addShutdownHook(new Thread(
                () -> loops.shutdownGracefully(0, 2, TimeUnit.SECONDS).syncUninterruptibly()));
    }
}
