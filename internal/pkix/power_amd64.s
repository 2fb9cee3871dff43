#include "textflag.h"

// Numbers are forty digits of 52 bits, eight in a register. Z0 to Z4 hold the
// sum, Z5 to Z9 what is added to it once it has moved down by a digit, Z10 to
// Z14 the factor a, Z15 to Z19 the modulus.

// W = hi(a·b[i]) + lo(a·b[i+1]): both have the place that the sum has after the move.
#define FACTOR(a, w) \
	VPXORQ      w, w, w; \
	VPMADD52HUQ Z20, a, w; \
	VPMADD52LUQ Z21, a, w

// The multiple of the modulus that makes the lowest digit zero.
#define REDUCE(n, s, w) \
	VPMADD52LUQ Z22, n, s; \
	VPMADD52HUQ Z22, n, w

#define MOVE(next, w, s) \
	VALIGNQ $1, s, next, s; \
	VPADDQ  w, s, s

// func multiply(out, a, b, n *digits, inverse uint64)
TEXT ·multiply(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), BX
	MOVQ n+24(FP), DX

	VPBROADCASTQ inverse+32(FP), Z23
	MOVL         $1, AX
	KMOVW        AX, K1
	VPXORQ       Z31, Z31, Z31

	VMOVDQU64 (SI), Z10
	VMOVDQU64 64(SI), Z11
	VMOVDQU64 128(SI), Z12
	VMOVDQU64 192(SI), Z13
	VMOVDQU64 256(SI), Z14
	VMOVDQU64 (DX), Z15
	VMOVDQU64 64(DX), Z16
	VMOVDQU64 128(DX), Z17
	VMOVDQU64 192(DX), Z18
	VMOVDQU64 256(DX), Z19

	VPBROADCASTQ (BX), Z20
	VPXORQ       Z0, Z0, Z0
	VPXORQ       Z1, Z1, Z1
	VPXORQ       Z2, Z2, Z2
	VPXORQ       Z3, Z3, Z3
	VPXORQ       Z4, Z4, Z4
	VPMADD52LUQ  Z20, Z10, Z0
	VPMADD52LUQ  Z20, Z11, Z1
	VPMADD52LUQ  Z20, Z12, Z2
	VPMADD52LUQ  Z20, Z13, Z3
	VPMADD52LUQ  Z20, Z14, Z4
	MOVQ         $40, CX

digit:
	ADDQ         $8, BX
	VPBROADCASTQ (BX), Z21
	VPXORQ       Z22, Z22, Z22
	VPMADD52LUQ  Z23, Z0, Z22
	VPBROADCASTQ X22, Z22
	FACTOR(Z10, Z5)
	FACTOR(Z11, Z6)
	FACTOR(Z12, Z7)
	FACTOR(Z13, Z8)
	FACTOR(Z14, Z9)
	REDUCE(Z15, Z0, Z5)
	REDUCE(Z16, Z1, Z6)
	REDUCE(Z17, Z2, Z7)
	REDUCE(Z18, Z3, Z8)
	REDUCE(Z19, Z4, Z9)
	VPSRLQ.Z     $52, Z0, K1, Z24 // what the lowest digit carries over
	VPADDQ       Z24, Z5, Z5
	MOVE(Z1, Z5, Z0)
	MOVE(Z2, Z6, Z1)
	MOVE(Z3, Z7, Z2)
	MOVE(Z4, Z8, Z3)
	MOVE(Z31, Z9, Z4)
	VMOVDQA64    Z21, Z20
	DECQ         CX
	JNZ          digit

	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z2, 128(DI)
	VMOVDQU64 Z3, 192(DI)
	VMOVDQU64 Z4, 256(DI)
	VZEROUPPER
	RET
