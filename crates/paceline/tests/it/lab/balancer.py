# A connection balancer, round robin: each connection goes to the next instance that accepts it.
import socket, sys, threading

words = [line.split() for line in open(sys.argv[1])]
listen = next((word[1], int(word[2])) for word in words if word[0] == "listen")
instances = [tuple(word[1].rsplit(":", 1)) for word in words if word[0] == "to"]
turn = 0

def pipe(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

def serve(client):
    global turn
    for _ in instances:
        turn += 1
        host, port = instances[turn % len(instances)]
        try:
            server = socket.create_connection((host, int(port)))
        except OSError:
            continue
        threading.Thread(target=pipe, args=(server, client), daemon=True).start()
        return pipe(client, server)
    client.close()

listener = socket.create_server(listen, backlog=128)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
