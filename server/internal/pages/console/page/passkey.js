// Passkeys: a form that has data-create or data-request asks the browser for one before
// it is sent. Everything else of these pages works without scripts.
const decode = text => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), c => c.charCodeAt(0));
const encode = buffer => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');

// answer is a credential as JSON (WebAuthn, 5.1), for browsers that cannot write it.
const answer = c => JSON.stringify({
  id: c.id, rawId: encode(c.rawId), type: c.type, clientExtensionResults: {},
  response: Object.fromEntries(['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']
    .filter(name => c.response[name]).map(name => [name, encode(c.response[name])])),
});

const ask = form => {
  const options = JSON.parse(form.dataset.create || form.dataset.request);
  options.challenge = decode(options.challenge);
  if (form.dataset.create) {
    options.user.id = decode(options.user.id);
    for (const known of options.excludeCredentials) known.id = decode(known.id);
    return navigator.credentials.create({publicKey: options});
  }
  return navigator.credentials.get({publicKey: options});
};

if (window.PublicKeyCredential) document.documentElement.classList.add('js');
for (const form of document.querySelectorAll('form.passkey')) {
  form.addEventListener('submit', async event => {
    event.preventDefault();
    const wrong = form.querySelector('.wrong');
    wrong.hidden = true;
    try {
      form.querySelector('[name=passkey]').value = answer(await ask(form));
    } catch {
      wrong.hidden = false;
      return;
    }
    form.submit();
  });
}
