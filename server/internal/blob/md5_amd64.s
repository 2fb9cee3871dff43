#include "textflag.h"

// A register holds one word of eight digests. Y0 to Y3 are their states, BX the
// sixteen words of a block, AX the constants of the steps, eight times each.

// What every step ends with: a = b + (a <<< s).
#define TURN(a, b, s, rest) \
	VPSLLD $s, a, Y5; \
	VPSRLD $rest, a, a; \
	VPOR   Y5, a, a; \
	VPADDD b, a, a

#define ADD(a, m, k) \
	VPADDD (m*32)(BX), a, a; \
	VPADDD (k*32)(AX), a, a

// RFC 1321, 3.4: F, G, H and I.
#define ROUND_F(a, b, c, d, m, k, s, rest) \
	VPXOR  c, d, Y4; \
	ADD(a, m, k); \
	VPAND  b, Y4, Y4; \
	VPXOR  d, Y4, Y4; \
	VPADDD Y4, a, a; \
	TURN(a, b, s, rest)

#define ROUND_G(a, b, c, d, m, k, s, rest) \
	VPXOR  b, c, Y4; \
	ADD(a, m, k); \
	VPAND  d, Y4, Y4; \
	VPXOR  c, Y4, Y4; \
	VPADDD Y4, a, a; \
	TURN(a, b, s, rest)

#define ROUND_H(a, b, c, d, m, k, s, rest) \
	VPXOR  c, d, Y4; \
	ADD(a, m, k); \
	VPXOR  b, Y4, Y4; \
	VPADDD Y4, a, a; \
	TURN(a, b, s, rest)

#define ROUND_I(a, b, c, d, m, k, s, rest) \
	VPXOR  Y6, d, Y4; \
	ADD(a, m, k); \
	VPOR   b, Y4, Y4; \
	VPXOR  c, Y4, Y4; \
	VPADDD Y4, a, a; \
	TURN(a, b, s, rest)

// Eight words of eight blocks, turned: the first of all, the second of all, and so on.
#define WORDS(from, to) \
	VMOVDQU     from(R8), Y4; \
	VMOVDQU     from(R9), Y5; \
	VMOVDQU     from(R10), Y6; \
	VMOVDQU     from(R11), Y7; \
	VMOVDQU     from(R12), Y8; \
	VMOVDQU     from(R13), Y9; \
	VMOVDQU     from(R14), Y10; \
	VMOVDQU     from(R15), Y11; \
	VPUNPCKLDQ  Y5, Y4, Y12; \
	VPUNPCKHDQ  Y5, Y4, Y4; \
	VPUNPCKLDQ  Y7, Y6, Y5; \
	VPUNPCKHDQ  Y7, Y6, Y6; \
	VPUNPCKLDQ  Y9, Y8, Y7; \
	VPUNPCKHDQ  Y9, Y8, Y8; \
	VPUNPCKLDQ  Y11, Y10, Y9; \
	VPUNPCKHDQ  Y11, Y10, Y10; \
	VPUNPCKLQDQ Y5, Y12, Y11; \
	VPUNPCKHQDQ Y5, Y12, Y12; \
	VPUNPCKLQDQ Y6, Y4, Y5; \
	VPUNPCKHQDQ Y6, Y4, Y4; \
	VPUNPCKLQDQ Y9, Y7, Y6; \
	VPUNPCKHQDQ Y9, Y7, Y7; \
	VPUNPCKLQDQ Y10, Y8, Y9; \
	VPUNPCKHQDQ Y10, Y8, Y8; \
	VPERM2I128  $0x20, Y6, Y11, Y13; \
	VPERM2I128  $0x31, Y6, Y11, Y14; \
	VMOVDQU     Y13, to(BX); \
	VMOVDQU     Y14, (to+128)(BX); \
	VPERM2I128  $0x20, Y7, Y12, Y13; \
	VPERM2I128  $0x31, Y7, Y12, Y14; \
	VMOVDQU     Y13, (to+32)(BX); \
	VMOVDQU     Y14, (to+160)(BX); \
	VPERM2I128  $0x20, Y9, Y5, Y13; \
	VPERM2I128  $0x31, Y9, Y5, Y14; \
	VMOVDQU     Y13, (to+64)(BX); \
	VMOVDQU     Y14, (to+192)(BX); \
	VPERM2I128  $0x20, Y8, Y4, Y13; \
	VPERM2I128  $0x31, Y8, Y4, Y14; \
	VMOVDQU     Y13, (to+96)(BX); \
	VMOVDQU     Y14, (to+224)(BX)

// func digestBlocks(state *[4][8]uint32, data *[8]*byte, n int, constants *[64][8]uint32)
TEXT ·digestBlocks(SB), NOSPLIT, $512-32
	MOVQ state+0(FP), DI
	MOVQ data+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ constants+24(FP), AX
	LEAQ words-512(SP), BX
	MOVQ 0(SI), R8
	MOVQ 8(SI), R9
	MOVQ 16(SI), R10
	MOVQ 24(SI), R11
	MOVQ 32(SI), R12
	MOVQ 40(SI), R13
	MOVQ 48(SI), R14
	MOVQ 56(SI), R15
	VMOVDQU 0(DI), Y0
	VMOVDQU 32(DI), Y1
	VMOVDQU 64(DI), Y2
	VMOVDQU 96(DI), Y3

block:
	TESTQ CX, CX
	JZ    done
	WORDS(0, 0)
	WORDS(32, 256)
	VPCMPEQD Y6, Y6, Y6
	ROUND_F(Y0, Y1, Y2, Y3, 0, 0, 7, 25)
	ROUND_F(Y3, Y0, Y1, Y2, 1, 1, 12, 20)
	ROUND_F(Y2, Y3, Y0, Y1, 2, 2, 17, 15)
	ROUND_F(Y1, Y2, Y3, Y0, 3, 3, 22, 10)
	ROUND_F(Y0, Y1, Y2, Y3, 4, 4, 7, 25)
	ROUND_F(Y3, Y0, Y1, Y2, 5, 5, 12, 20)
	ROUND_F(Y2, Y3, Y0, Y1, 6, 6, 17, 15)
	ROUND_F(Y1, Y2, Y3, Y0, 7, 7, 22, 10)
	ROUND_F(Y0, Y1, Y2, Y3, 8, 8, 7, 25)
	ROUND_F(Y3, Y0, Y1, Y2, 9, 9, 12, 20)
	ROUND_F(Y2, Y3, Y0, Y1, 10, 10, 17, 15)
	ROUND_F(Y1, Y2, Y3, Y0, 11, 11, 22, 10)
	ROUND_F(Y0, Y1, Y2, Y3, 12, 12, 7, 25)
	ROUND_F(Y3, Y0, Y1, Y2, 13, 13, 12, 20)
	ROUND_F(Y2, Y3, Y0, Y1, 14, 14, 17, 15)
	ROUND_F(Y1, Y2, Y3, Y0, 15, 15, 22, 10)
	ROUND_G(Y0, Y1, Y2, Y3, 1, 16, 5, 27)
	ROUND_G(Y3, Y0, Y1, Y2, 6, 17, 9, 23)
	ROUND_G(Y2, Y3, Y0, Y1, 11, 18, 14, 18)
	ROUND_G(Y1, Y2, Y3, Y0, 0, 19, 20, 12)
	ROUND_G(Y0, Y1, Y2, Y3, 5, 20, 5, 27)
	ROUND_G(Y3, Y0, Y1, Y2, 10, 21, 9, 23)
	ROUND_G(Y2, Y3, Y0, Y1, 15, 22, 14, 18)
	ROUND_G(Y1, Y2, Y3, Y0, 4, 23, 20, 12)
	ROUND_G(Y0, Y1, Y2, Y3, 9, 24, 5, 27)
	ROUND_G(Y3, Y0, Y1, Y2, 14, 25, 9, 23)
	ROUND_G(Y2, Y3, Y0, Y1, 3, 26, 14, 18)
	ROUND_G(Y1, Y2, Y3, Y0, 8, 27, 20, 12)
	ROUND_G(Y0, Y1, Y2, Y3, 13, 28, 5, 27)
	ROUND_G(Y3, Y0, Y1, Y2, 2, 29, 9, 23)
	ROUND_G(Y2, Y3, Y0, Y1, 7, 30, 14, 18)
	ROUND_G(Y1, Y2, Y3, Y0, 12, 31, 20, 12)
	ROUND_H(Y0, Y1, Y2, Y3, 5, 32, 4, 28)
	ROUND_H(Y3, Y0, Y1, Y2, 8, 33, 11, 21)
	ROUND_H(Y2, Y3, Y0, Y1, 11, 34, 16, 16)
	ROUND_H(Y1, Y2, Y3, Y0, 14, 35, 23, 9)
	ROUND_H(Y0, Y1, Y2, Y3, 1, 36, 4, 28)
	ROUND_H(Y3, Y0, Y1, Y2, 4, 37, 11, 21)
	ROUND_H(Y2, Y3, Y0, Y1, 7, 38, 16, 16)
	ROUND_H(Y1, Y2, Y3, Y0, 10, 39, 23, 9)
	ROUND_H(Y0, Y1, Y2, Y3, 13, 40, 4, 28)
	ROUND_H(Y3, Y0, Y1, Y2, 0, 41, 11, 21)
	ROUND_H(Y2, Y3, Y0, Y1, 3, 42, 16, 16)
	ROUND_H(Y1, Y2, Y3, Y0, 6, 43, 23, 9)
	ROUND_H(Y0, Y1, Y2, Y3, 9, 44, 4, 28)
	ROUND_H(Y3, Y0, Y1, Y2, 12, 45, 11, 21)
	ROUND_H(Y2, Y3, Y0, Y1, 15, 46, 16, 16)
	ROUND_H(Y1, Y2, Y3, Y0, 2, 47, 23, 9)
	ROUND_I(Y0, Y1, Y2, Y3, 0, 48, 6, 26)
	ROUND_I(Y3, Y0, Y1, Y2, 7, 49, 10, 22)
	ROUND_I(Y2, Y3, Y0, Y1, 14, 50, 15, 17)
	ROUND_I(Y1, Y2, Y3, Y0, 5, 51, 21, 11)
	ROUND_I(Y0, Y1, Y2, Y3, 12, 52, 6, 26)
	ROUND_I(Y3, Y0, Y1, Y2, 3, 53, 10, 22)
	ROUND_I(Y2, Y3, Y0, Y1, 10, 54, 15, 17)
	ROUND_I(Y1, Y2, Y3, Y0, 1, 55, 21, 11)
	ROUND_I(Y0, Y1, Y2, Y3, 8, 56, 6, 26)
	ROUND_I(Y3, Y0, Y1, Y2, 15, 57, 10, 22)
	ROUND_I(Y2, Y3, Y0, Y1, 6, 58, 15, 17)
	ROUND_I(Y1, Y2, Y3, Y0, 13, 59, 21, 11)
	ROUND_I(Y0, Y1, Y2, Y3, 4, 60, 6, 26)
	ROUND_I(Y3, Y0, Y1, Y2, 11, 61, 10, 22)
	ROUND_I(Y2, Y3, Y0, Y1, 2, 62, 15, 17)
	ROUND_I(Y1, Y2, Y3, Y0, 9, 63, 21, 11)
	VPADDD  0(DI), Y0, Y0
	VPADDD  32(DI), Y1, Y1
	VPADDD  64(DI), Y2, Y2
	VPADDD  96(DI), Y3, Y3
	VMOVDQU Y0, 0(DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	ADDQ    $64, R8
	ADDQ    $64, R9
	ADDQ    $64, R10
	ADDQ    $64, R11
	ADDQ    $64, R12
	ADDQ    $64, R13
	ADDQ    $64, R14
	ADDQ    $64, R15
	DECQ    CX
	JMP     block

done:
	VZEROUPPER
	RET
