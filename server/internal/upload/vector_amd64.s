#include "textflag.h"

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
