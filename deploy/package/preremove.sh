#!/bin/sh
# deb: "remove" or "upgrade"; rpm: how many stay.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now rogito.service || true
	fi
	;;
esac
