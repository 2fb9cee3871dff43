// A PKCS#11 module for tests: SoftHSM behind faults that a test sets through a
// mapped file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long rv;

// The board is shared with the test: what to answer, and what was asked.
struct board {
	unsigned long open_answer, login_answer, sign_answer, hold;
	unsigned long sign_failures; // so many signatures get sign_answer; 0: all
	unsigned long opened, closed, logins, signs, inits, finals;
	unsigned long destroy_answer;
	unsigned long signing, most; // signatures under way now, and at most
};
static struct board *board;

// CK_FUNCTION_LIST: a version of two octets, then pointers in a fixed order.
#define FUNCTIONS 68
struct list {
	unsigned char version[2];
	void *f[FUNCTIONS];
};
static struct list real, ours;

enum { INITIALIZE = 0, FINALIZE = 1, OPEN = 12, CLOSE = 13, LOGIN = 18, DESTROY = 22, SIGN = 43 };

static rv my_initialize(void *args) {
	__sync_fetch_and_add(&board->inits, 1);
	return ((rv(*)(void *))real.f[INITIALIZE])(args);
}

static rv my_finalize(void *p) {
	__sync_fetch_and_add(&board->finals, 1);
	rv r = ((rv(*)(void *))real.f[FINALIZE])(p);
	if (!r)
		board->closed = board->opened; // whatever was open is not any more
	return r;
}

static rv my_open(unsigned long slot, unsigned long flags, void *app, void *notify, unsigned long *session) {
	if (board->open_answer)
		return board->open_answer;
	rv r = ((rv(*)(unsigned long, unsigned long, void *, void *, unsigned long *))real.f[OPEN])(slot, flags, app, notify, session);
	if (!r)
		__sync_fetch_and_add(&board->opened, 1);
	return r;
}

static rv my_close(unsigned long session) {
	rv r = ((rv(*)(unsigned long))real.f[CLOSE])(session);
	if (!r)
		__sync_fetch_and_add(&board->closed, 1);
	return r;
}

static rv my_login(unsigned long session, unsigned long user, unsigned char *pin, unsigned long n) {
	__sync_fetch_and_add(&board->logins, 1);
	if (board->login_answer)
		return board->login_answer;
	return ((rv(*)(unsigned long, unsigned long, unsigned char *, unsigned long))real.f[LOGIN])(session, user, pin, n);
}

static rv my_destroy(unsigned long session, unsigned long object) {
	if (board->destroy_answer)
		return board->destroy_answer;
	return ((rv(*)(unsigned long, unsigned long))real.f[DESTROY])(session, object);
}

static rv my_sign(unsigned long session, unsigned char *data, unsigned long n, unsigned char *sig, unsigned long *len) {
	if (sig) // without it only the length is asked for
		__sync_fetch_and_add(&board->signs, 1);
	unsigned long now = __sync_add_and_fetch(&board->signing, sig != 0);
	for (unsigned long most = board->most; now > most && !__sync_bool_compare_and_swap(&board->most, most, now);)
		most = board->most;
	while (sig && *(volatile unsigned long *)&board->hold)
		usleep(1000);
	rv r = ((rv(*)(unsigned long, unsigned char *, unsigned long, unsigned char *, unsigned long *))real.f[SIGN])(session, data, n, sig, len);
	__sync_sub_and_fetch(&board->signing, sig != 0);
	if (!board->sign_answer)
		return r;
	if (board->sign_failures && __sync_sub_and_fetch(&board->sign_failures, 1) == 0) {
		rv answer = board->sign_answer;
		board->sign_answer = 0;
		return answer;
	}
	return board->sign_answer;
}

rv C_GetFunctionList(struct list **out) {
	if (!board) {
		int fd = open(getenv("ROGITO_TEST_BOARD"), O_RDWR);
		if (fd < 0)
			return 5;
		board = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		void *lib = dlopen(getenv("ROGITO_TEST_MODULE"), RTLD_NOW | RTLD_LOCAL);
		if (!lib)
			return 5;
		rv (*get)(struct list **) = (rv(*)(struct list **))dlsym(lib, "C_GetFunctionList");
		struct list *theirs;
		if (!get || get(&theirs))
			return 5;
		memcpy(&real, theirs, sizeof real);
		memcpy(&ours, theirs, sizeof ours);
		ours.f[INITIALIZE] = (void *)my_initialize;
		ours.f[FINALIZE] = (void *)my_finalize;
		ours.f[OPEN] = (void *)my_open;
		ours.f[CLOSE] = (void *)my_close;
		ours.f[LOGIN] = (void *)my_login;
		ours.f[DESTROY] = (void *)my_destroy;
		ours.f[SIGN] = (void *)my_sign;
	}
	*out = &ours;
	return 0;
}
