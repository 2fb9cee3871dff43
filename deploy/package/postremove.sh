#!/bin/sh
# Signatures, keys and their audit are kept, also by a purge: who wants them gone
# removes the folder.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
case "$1" in
purge | 0)
	if [ -d /var/lib/rogito ]; then
		echo "rogito: the data stays in /var/lib/rogito"
	fi
	;;
esac
