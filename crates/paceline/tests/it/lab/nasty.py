# A server that tries in every way to outlive its lab: it ignores SIGTERM, forks, starts sessions and forks twice.
# Every process signs the witness pipe and holds it open; all exit within two minutes.
import os
import signal
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.alarm(120)
witness = os.open(os.environ["WITNESS"], os.O_WRONLY)

def outlive(*steps):
    if os.fork() != 0:
        return
    for step in steps:
        if step == "setsid":
            os.setsid()
        elif os.fork() != 0:
            os._exit(0)
    signal.alarm(120)
    os.write(witness, b"x")
    while True:
        time.sleep(1)

outlive()
outlive("setsid")
outlive("setsid", "fork")
outlive("fork", "setsid", "fork")
os.write(witness, b"x")
exec(open("good.py").read())
