"""A mail server that keeps the mails that it receives."""

import socketserver
import threading

from waiting import wait


class Mailbox:
    """Listens on port 25 of the machine whose network this process has entered."""

    def __init__(self):
        self.mails = []  # (recipients, text), oldest first
        self.arrived = threading.Condition()
        self.answers = threading.Event()  # while it is not set, connections get no answer
        self.answers.set()
        self.listen()

    def listen(self):
        socketserver.ThreadingTCPServer.allow_reuse_address = True
        socketserver.ThreadingTCPServer.daemon_threads = True
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 25), self._handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def wait(self, recipient, pattern):
        """Waits for a mail to `recipient` with `pattern`, removes it and earlier mails, and returns the first group."""
        def take():
            for index in reversed(range(len(self.mails))):
                recipients, text = self.mails[index]
                found = pattern.search(text) if recipient in recipients else None
                if found:
                    del self.mails[: index + 1]
                    return found.group(1)
            return None
        def look():
            with self.arrived:
                return take()
        return wait(f"a mail to {recipient}", look)

    def _handler(self):
        mailbox = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                mailbox.answers.wait()
                try:
                    self._receive()
                except OSError:
                    pass  # the sender has closed the connection

            def _receive(self):
                recipients = []
                self._say("220 ready")
                while line := self.rfile.readline().decode(errors="replace").strip():
                    word = line.split()[0].upper()
                    if word == "RCPT":
                        recipients.append(line.partition("<")[2].partition(">")[0])
                    if word == "DATA":
                        self._say("354 go on")
                        mailbox._keep(recipients, self._text())
                        recipients = []
                    self._say("221 bye" if word == "QUIT" else "250 done")

            def _say(self, line):
                self.wfile.write(line.encode() + b"\r\n")

            def _text(self):
                lines = iter(self.rfile.readline, b"")
                text = []
                for line in lines:
                    if line == b".\r\n":
                        break
                    text.append(line.decode(errors="replace").rstrip("\r\n"))
                return "\n".join(text)

        return Handler

    def _keep(self, recipients, text):
        with self.arrived:
            self.mails.append((recipients, text))
            self.arrived.notify_all()
