package main

import "time"

func sleep() { time.Sleep(25 * time.Millisecond) }
