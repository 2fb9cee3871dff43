#include "textflag.h"

// func hexBlocks(out, in *byte, n, step int) int
TEXT ·hexBlocks(SB), NOSPLIT, $0-40
	MOVQ out+0(FP), DI
	MOVQ in+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ step+24(FP), DX
	MOVQ CX, R8

	MOVQ         $0x3030303030303030, AX // '0'
	MOVQ         AX, X8
	VPBROADCASTQ X8, Y8
	MOVQ         $0x0909090909090909, AX
	MOVQ         AX, X9
	VPBROADCASTQ X9, Y9
	MOVQ         $0x2020202020202020, AX // what tells a small letter from a capital
	MOVQ         AX, X10
	VPBROADCASTQ X10, Y10
	MOVQ         $0x6161616161616161, AX // 'a'
	MOVQ         AX, X11
	VPBROADCASTQ X11, Y11
	MOVQ         $0x0505050505050505, AX
	MOVQ         AX, X12
	VPBROADCASTQ X12, Y12
	MOVQ         $0x0a0a0a0a0a0a0a0a, AX
	MOVQ         AX, X13
	VPBROADCASTQ X13, Y13
	MOVQ         $0x0110011001100110, AX // 16 and 1 in turn
	MOVQ         AX, X14
	VPBROADCASTQ X14, Y14
	TESTQ        CX, CX
	JZ           end

block:
	VMOVDQU    (SI), Y0
	VPSUBB     Y8, Y0, Y1
	VPMINUB    Y9, Y1, Y2
	VPCMPEQB   Y1, Y2, Y2 // digits
	VPOR       Y10, Y0, Y3
	VPSUBB     Y11, Y3, Y3
	VPMINUB    Y12, Y3, Y4
	VPCMPEQB   Y3, Y4, Y4 // letters
	VPOR       Y2, Y4, Y5
	VPMOVMSKB  Y5, AX
	CMPL       AX, $-1
	JNE        end
	VPADDB     Y13, Y3, Y3
	VPAND      Y2, Y1, Y1
	VPAND      Y4, Y3, Y3
	VPOR       Y1, Y3, Y0
	VPMADDUBSW Y14, Y0, Y0
	VPACKUSWB  Y0, Y0, Y0
	VPERMQ     $0x08, Y0, Y0
	VMOVDQU    X0, (DI)
	ADDQ       $32, SI
	ADDQ       DX, DI
	DECQ       CX
	JNZ        block

end:
	SUBQ CX, R8
	MOVQ R8, ret+32(FP)
	VZEROUPPER
	RET
