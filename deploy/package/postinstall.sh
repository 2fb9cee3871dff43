#!/bin/sh
# deb: "configure", and the version before on an upgrade; rpm: how many are installed.
set -e
# A user who is there is left alone: what makes users fails for it in some chroots.
if ! getent passwd rogito >/dev/null 2>&1; then
	if ! { command -v systemd-sysusers >/dev/null 2>&1 && systemd-sysusers rogito.conf; }; then
		useradd --system --user-group --home-dir /var/lib/rogito --shell /usr/sbin/nologin rogito
	fi
fi
# The folder is the server's alone. What is in it is nobody's business here.
if [ ! -e /var/lib/rogito ]; then
	install -d -m 700 -o rogito -g rogito /var/lib/rogito
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	systemctl try-restart rogito.service || true
fi
if [ -z "$(ls -A /var/lib/rogito 2>/dev/null)" ]; then
	echo "rogito: make the installation, then start it:"
	echo "  runuser -u rogito -- rogito init --data /var/lib/rogito EMAIL"
	echo "  systemctl enable --now rogito"
fi
