import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Starts Netty's HTTP codecs on its epoll transport; {@link Versions} chooses, {@link Answers} has the routes. */
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
                        channel.pipeline().addLast(new Versions(page));
                    }
                })
                .bind(System.getenv("PACELINE_HOST"), Integer.parseInt(System.getenv("PACELINE_PORT")))
                .sync();
        Runtime.getRuntime().addShutdownHook(new Thread(
                () -> loops.shutdownGracefully(0, 2, TimeUnit.SECONDS).syncUninterruptibly()));
    }
}
