"""Programs that are measured: started on a port of their own, watched, and ended by their own id."""

import pathlib
import signal
import socket
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target" / "release"
TICK = 0.01  # seconds; what /proc counts processor time in


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Server:
    """A program that listens on a port of 127.0.0.1; a context, at whose end it has ended too."""

    def __init__(self, command, port, patience=60, cwd=None, env=None):
        self.command = [str(part) for part in command]
        self.port = port
        self.patience = patience
        self.cwd = cwd
        self.env = env

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command,
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + self.patience
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SystemExit(f"{self.command[0]} ended with {self.process.returncode} before it listened")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.02)
        self.__exit__()
        raise SystemExit(f"{self.command[0]} does not listen on port {self.port} after {self.patience} s")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def processor_time(self):
        """Seconds of user and system time so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK

    def resident(self):
        """Bytes of memory that it has in use now."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise SystemExit(f"{self.command[0]} has ended")


def bare():
    """The floor: a bare hyper server that answers the same bytes and remembers nothing."""
    port = free_port()
    return Server([RELEASE / "examples" / "bare", f"127.0.0.1:{port}"], port)


def provider(*options):
    port = free_port()
    return Server([RELEASE / "stub-provider", "--listen", f"127.0.0.1:{port}", *options], port)


def fetch(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.read().decode()
