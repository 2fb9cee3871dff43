package server

// heapFloor is memory that is never touched and so never resident. It makes
// the collector think of a heap of at least this size: a server whose live
// heap is a few megabytes would otherwise collect a thousand times a minute
// under load, and pay for it with a third of its time. With a large heap it
// weighs nothing.
var heapFloor []byte

const heapFloorSize = 64 << 20

func raiseHeapFloor() {
	if heapFloor == nil {
		heapFloor = make([]byte, heapFloorSize)
	}
}
