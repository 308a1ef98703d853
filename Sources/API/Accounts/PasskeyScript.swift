/// Asks the browser for an assertion and sends it with the form (WebAuthn §5.1.4). If the browser supports it, the address
/// field offers passkeys too (§5.1.4.2, conditional mediation), until a form is sent.
///
/// A page without a challenge gets it from the answer to the form. This starts a new visit, so only the page of a browser
/// without a sign-in does this before the button is pressed.
let passkeyScript = """
  "use strict";
  const form = document.getElementById("passkey");
  const error = document.getElementById("passkey-error");
  let pending = new AbortController();

  function bytes(text) {
    const base64 = text.replaceAll("-", "+").replaceAll("_", "/");
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  }

  function text(buffer) {
    const letters = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte));
    return btoa(letters.join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }

  function json(credential) {
    const response = credential.response;
    return JSON.stringify({
      id: credential.id, rawId: text(credential.rawId), type: credential.type,
      response: {
        clientDataJSON: text(response.clientDataJSON),
        authenticatorData: text(response.authenticatorData),
        signature: text(response.signature),
        userHandle: response.userHandle ? text(response.userHandle) : null,
      },
    });
  }

  // Aborts the previous request, and returns the signal of a new one.
  function begin() {
    pending.abort();
    pending = new AbortController();
    return pending.signal;
  }

  async function challenge(signal) {
    if (!form.dataset.challenge) {
      const answer = await fetch(form.action, { method: "POST", signal });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const next = page.getElementById("passkey");
      if (!next?.dataset.challenge) throw new Error("no challenge");
      form.elements.token.value = next.elements.token.value;
      form.dataset.challenge = next.dataset.challenge;
    }
    return bytes(form.dataset.challenge);
  }

  async function signIn(mediation, signal) {
    const credential = await navigator.credentials.get({
      mediation, signal,
      publicKey: {
        challenge: await challenge(signal), rpId: form.dataset.party,
        userVerification: "required", timeout: 300000,
      },
    });
    form.elements.credential.value = json(credential);
    form.action += "/sign-in";
    form.submit();
  }

  async function offer() {
    if (!("offers" in form.dataset)) return;
    if (!(await window.PublicKeyCredential?.isConditionalMediationAvailable?.())) return;
    try {
      await signIn("conditional", begin());
    } catch {
      // The person can still use the button.
    }
  }

  document.addEventListener("submit", async (event) => {
    const signal = begin();
    if (event.target !== form) return;
    event.preventDefault();
    error.textContent = "";
    try {
      await signIn("optional", signal);
    } catch {
      if (signal.aborted) return;
      error.textContent = form.dataset.error;
      offer();
    }
  });
  offer();

  """
