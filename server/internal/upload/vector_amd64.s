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

DATA quote<>+0(SB)/4, $0x22222222
GLOBL quote<>(SB), RODATA|NOPTR, $4
DATA backslash<>+0(SB)/4, $0x5c5c5c5c
GLOBL backslash<>(SB), RODATA|NOPTR, $4
DATA space<>+0(SB)/4, $0x20202020
GLOBL space<>(SB), RODATA|NOPTR, $4

// func ordinaryBlocks(b []byte) int
TEXT ·ordinaryBlocks(SB), NOSPLIT, $0-32
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), CX
	XORQ AX, AX
	XORQ DX, DX
	VPBROADCASTD quote<>(SB), Y8
	VPBROADCASTD backslash<>(SB), Y9
	VPBROADCASTD space<>(SB), Y10
	SUBQ $32, CX

next:
	CMPQ AX, CX
	JGT  done
	VMOVDQU   (SI)(AX*1), Y0
	VPCMPEQB  Y8, Y0, Y1
	VPCMPEQB  Y9, Y0, Y2
	VPCMPGTB  Y0, Y10, Y3 // of signed bytes: what is not ASCII is below a space too
	VPOR      Y1, Y2, Y1
	VPOR      Y1, Y3, Y1
	VPMOVMSKB Y1, DX
	TESTL     DX, DX
	JNZ       found
	ADDQ $32, AX
	JMP  next

found:
	BSFL DX, DX
	ADDQ DX, AX

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET

// func indexEnds(b []byte, first, last byte, apart int) int
TEXT ·indexEnds(SB), NOSPLIT, $0-48
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), CX
	MOVQ apart+32(FP), BX
	XORQ AX, AX
	VPBROADCASTB first+24(FP), Y8
	VPBROADCASTB last+25(FP), Y9
	ADDQ SI, BX
	SUBQ apart+32(FP), CX
	SUBQ $32, CX

ends:
	CMPQ AX, CX
	JGT  none
	VPCMPEQB  (SI)(AX*1), Y8, Y0
	VPCMPEQB  (BX)(AX*1), Y9, Y1
	VPAND     Y0, Y1, Y0
	VPMOVMSKB Y0, DX
	TESTL     DX, DX
	JNZ       both
	ADDQ $32, AX
	JMP  ends

both:
	BSFL DX, DX
	ADDQ DX, AX

none:
	VZEROUPPER
	MOVQ AX, ret+40(FP)
	RET
