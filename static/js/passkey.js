// Passkeys: the browser makes one or proves one, and the form carries what it says.
"use strict";

const passkeys = {
  passkeyCreate: async options => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey) }),
  passkeyGet: async options => navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey) }),
};

for (const [name, ask] of Object.entries(passkeys)) {
  for (const form of document.querySelectorAll(`form[data-${name.replace(/[A-Z]/, letter => `-${letter.toLowerCase()}`)}]`)) {
    form.addEventListener("submit", async event => {
      event.preventDefault();
      try {
        form.elements.credential.value = JSON.stringify(await ask(JSON.parse(form.dataset[name])));
        form.submit();
      } catch {
        form.querySelector("[data-passkey-problem]")?.removeAttribute("hidden");
      }
    });
  }
}
