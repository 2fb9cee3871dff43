#include "textflag.h"

// Every table is of sixteen bytes, one for a nibble, and serves both halves of a
// register.

// A character is of the alphabet where the bits of its two nibbles have none in
// common. High nibbles: 2 has + and /, 3 the digits, 4 and 6 all but the first,
// 5 and 7 all up to z; no others.
DATA highBits<>+0(SB)/8, $0x0804080402011010
DATA highBits<>+8(SB)/8, $0x1010101010101010
GLOBL highBits<>(SB), RODATA|NOPTR, $16

DATA lowBits<>+0(SB)/8, $0x1111111111111115
DATA lowBits<>+8(SB)/8, $0x1a1b1b1b1a131111
GLOBL lowBits<>(SB), RODATA|NOPTR, $16

// What is added to a character to make six bits of it, by its high nibble. That
// of / counts as one less, since + has the same and other bits.
DATA shifts<>+0(SB)/8, $0xb9b9bfbf04131000
DATA shifts<>+8(SB)/8, $0x0000000000000000
GLOBL shifts<>(SB), RODATA|NOPTR, $16

// Three bytes of every four, the first of them in the highest place.
DATA threes<>+0(SB)/8, $0x090a040506000102
DATA threes<>+8(SB)/8, $0xffffffff0c0d0e08
GLOBL threes<>(SB), RODATA|NOPTR, $16

// Both halves side by side.
DATA halves<>+0(SB)/8, $0x0000000100000000
DATA halves<>+8(SB)/8, $0x0000000400000002
DATA halves<>+16(SB)/8, $0x0000000600000005
DATA halves<>+24(SB)/8, $0x0000000700000007
GLOBL halves<>(SB), RODATA|NOPTR, $32

DATA slash<>+0(SB)/4, $0x2f2f2f2f
GLOBL slash<>(SB), RODATA|NOPTR, $4
DATA pair<>+0(SB)/4, $0x01400140
GLOBL pair<>(SB), RODATA|NOPTR, $4
DATA quad<>+0(SB)/4, $0x00011000
GLOBL quad<>(SB), RODATA|NOPTR, $4

// func decodeBlocks(dst, src []byte) int
TEXT ·decodeBlocks(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), DX
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), CX
	MOVQ CX, AX
	VBROADCASTI128 highBits<>(SB), Y8
	VBROADCASTI128 lowBits<>(SB), Y9
	VBROADCASTI128 shifts<>(SB), Y10
	VBROADCASTI128 threes<>(SB), Y11
	VMOVDQU        halves<>(SB), Y12
	VPBROADCASTD   slash<>(SB), Y13
	VPBROADCASTD   pair<>(SB), Y14
	VPBROADCASTD   quad<>(SB), Y15

block:
	CMPQ CX, $32
	JLT  end
	CMPQ DX, $32 // 24 bytes are decoded, 32 are written
	JLT  end
	VMOVDQU (SI), Y0

	// The nibbles: bit 5 of the mask, which is also /, does not count as an index.
	VPSRLD  $4, Y0, Y1
	VPAND   Y13, Y1, Y1
	VPAND   Y13, Y0, Y2
	VPSHUFB Y1, Y8, Y3
	VPSHUFB Y2, Y9, Y4
	VPTEST  Y3, Y4
	JNZ     end

	// Six bits of each, twelve of two, 24 of four.
	VPCMPEQB   Y13, Y0, Y2
	VPADDB     Y2, Y1, Y1
	VPSHUFB    Y1, Y10, Y1
	VPADDB     Y1, Y0, Y0
	VPMADDUBSW Y14, Y0, Y0
	VPMADDWD   Y15, Y0, Y0
	VPSHUFB    Y11, Y0, Y0
	VPERMD     Y0, Y12, Y0
	VMOVDQU    Y0, (DI)

	ADDQ $32, SI
	SUBQ $32, CX
	ADDQ $24, DI
	SUBQ $24, DX
	JMP  block

end:
	VZEROUPPER
	SUBQ CX, AX
	MOVQ AX, ret+48(FP)
	RET

// What a character of ASCII stands for; of the others only the highest bit is set.
DATA sixes<>+0(SB)/8, $0x8080808080808080
DATA sixes<>+8(SB)/8, $0x8080808080808080
DATA sixes<>+16(SB)/8, $0x8080808080808080
DATA sixes<>+24(SB)/8, $0x8080808080808080
DATA sixes<>+32(SB)/8, $0x8080808080808080
DATA sixes<>+40(SB)/8, $0x3f8080803e808080
DATA sixes<>+48(SB)/8, $0x3b3a393837363534
DATA sixes<>+56(SB)/8, $0x8080808080803d3c
DATA sixes<>+64(SB)/8, $0x0605040302010080
DATA sixes<>+72(SB)/8, $0x0e0d0c0b0a090807
DATA sixes<>+80(SB)/8, $0x161514131211100f
DATA sixes<>+88(SB)/8, $0x8080808080191817
DATA sixes<>+96(SB)/8, $0x201f1e1d1c1b1a80
DATA sixes<>+104(SB)/8, $0x2827262524232221
DATA sixes<>+112(SB)/8, $0x302f2e2d2c2b2a29
DATA sixes<>+120(SB)/8, $0x8080808080333231
GLOBL sixes<>(SB), RODATA|NOPTR, $128

// Three bytes of every four, as above, all side by side.
DATA packed<>+0(SB)/8, $0x090a040506000102
DATA packed<>+8(SB)/8, $0x161011120c0d0e08
DATA packed<>+16(SB)/8, $0x1c1d1e18191a1415
DATA packed<>+24(SB)/8, $0x292a242526202122
DATA packed<>+32(SB)/8, $0x363031322c2d2e28
DATA packed<>+40(SB)/8, $0x3c3d3e38393a3435
DATA packed<>+48(SB)/8, $0x0000000000000000
DATA packed<>+56(SB)/8, $0x0000000000000000
GLOBL packed<>(SB), RODATA|NOPTR, $64

// func decodeWide(dst, src []byte) int
TEXT ·decodeWide(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), DX
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), CX
	MOVQ CX, AX
	VMOVDQU64    sixes<>+0(SB), Z8
	VMOVDQU64    sixes<>+64(SB), Z9
	VMOVDQU64    packed<>(SB), Z10
	VPBROADCASTD pair<>(SB), Z11
	VPBROADCASTD quad<>(SB), Z12

wide:
	CMPQ CX, $64
	JLT  rest
	CMPQ DX, $64 // 48 bytes are decoded, 64 are written
	JLT  rest
	VMOVDQU64 (SI), Z0
	VMOVDQA64 Z0, Z1
	VPERMI2B  Z9, Z8, Z1
	VPORQ     Z0, Z1, Z0
	VPMOVB2M  Z0, K1
	KORTESTQ  K1, K1
	JNZ       rest

	// Twelve bits of two, 24 of four.
	VPMADDUBSW Z11, Z1, Z1
	VPMADDWD   Z12, Z1, Z1
	VPERMB     Z1, Z10, Z1
	VMOVDQU64  Z1, (DI)

	ADDQ $64, SI
	SUBQ $64, CX
	ADDQ $48, DI
	SUBQ $48, DX
	JMP  wide

rest:
	VZEROUPPER
	SUBQ CX, AX
	MOVQ AX, ret+48(FP)
	RET

// Twelve bytes for each half of a register: where the second begins, four are read again.
DATA dozens<>+0(SB)/8, $0x0000000100000000
DATA dozens<>+8(SB)/8, $0x0000000300000002
DATA dozens<>+16(SB)/8, $0x0000000400000003
DATA dozens<>+24(SB)/8, $0x0000000600000005
GLOBL dozens<>(SB), RODATA|NOPTR, $32

// Of every three bytes a, b and c two words of sixteen bits: ab and bc.
DATA words<>+0(SB)/8, $0x0405030401020001
DATA words<>+8(SB)/8, $0x0a0b090a07080607
GLOBL words<>(SB), RODATA|NOPTR, $16

// In these words the first and third six bits, and what moves them to the beginning of the word;
// the second and fourth, and what moves them to its end.
DATA odd<>+0(SB)/4, $0x0fc0fc00
GLOBL odd<>(SB), RODATA|NOPTR, $4
DATA down<>+0(SB)/4, $0x04000040
GLOBL down<>(SB), RODATA|NOPTR, $4
DATA even<>+0(SB)/4, $0x003f03f0
GLOBL even<>(SB), RODATA|NOPTR, $4
DATA up<>+0(SB)/4, $0x01000010
GLOBL up<>(SB), RODATA|NOPTR, $4

// What is added to six bits to make a character of them: a to z, ten digits, +, / and A to Z.
DATA letters<>+0(SB)/8, $0xfcfcfcfcfcfcfc47
DATA letters<>+8(SB)/8, $0x000041f0edfcfcfc
GLOBL letters<>(SB), RODATA|NOPTR, $16

DATA beforeDigits<>+0(SB)/4, $0x33333333
GLOBL beforeDigits<>(SB), RODATA|NOPTR, $4
DATA capitals<>+0(SB)/4, $0x1a1a1a1a
GLOBL capitals<>(SB), RODATA|NOPTR, $4
DATA ofCapitals<>+0(SB)/4, $0x0d0d0d0d
GLOBL ofCapitals<>(SB), RODATA|NOPTR, $4

// func encodeBlocks(dst, src []byte) int
TEXT ·encodeBlocks(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), DX
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), CX
	MOVQ CX, AX
	VBROADCASTI128 letters<>(SB), Y5
	VPBROADCASTD   beforeDigits<>(SB), Y6
	VPBROADCASTD   capitals<>(SB), Y7
	VPBROADCASTD   ofCapitals<>(SB), Y8
	VMOVDQU        dozens<>(SB), Y9
	VBROADCASTI128 words<>(SB), Y10
	VPBROADCASTD   odd<>(SB), Y11
	VPBROADCASTD   down<>(SB), Y12
	VPBROADCASTD   even<>(SB), Y13
	VPBROADCASTD   up<>(SB), Y14

encode:
	CMPQ CX, $32 // 24 bytes are encoded, 32 are read
	JLT  encoded
	CMPQ DX, $32
	JLT  encoded
	VMOVDQU (SI), Y0

	// Six bits in each byte.
	VPERMD   Y0, Y9, Y0
	VPSHUFB  Y10, Y0, Y0
	VPAND    Y11, Y0, Y1
	VPMULHUW Y12, Y1, Y1
	VPAND    Y13, Y0, Y0
	VPMULLW  Y14, Y0, Y0
	VPOR     Y1, Y0, Y0

	// Which of the kinds of characters they stand for: 13 for capitals, 0 for small letters, 1 and more for the others.
	VPSUBUSB Y6, Y0, Y1
	VPCMPGTB Y0, Y7, Y2
	VPAND    Y8, Y2, Y2
	VPOR     Y2, Y1, Y1
	VPSHUFB  Y1, Y5, Y1
	VPADDB   Y1, Y0, Y0
	VMOVDQU  Y0, (DI)

	ADDQ $24, SI
	SUBQ $24, CX
	ADDQ $32, DI
	SUBQ $32, DX
	JMP  encode

encoded:
	VZEROUPPER
	SUBQ CX, AX
	MOVQ AX, ret+48(FP)
	RET
