/** Pages for people who are not signed in, or may not use the console. They need no script. */

export interface PageIssuer {
  /** The host of the issuer. */
  readonly name: string
  readonly startUrl: string
}

interface SignInPage {
  readonly returnTo: string
  /** Why the page is shown; a sentence. */
  readonly message?: string
  /** Whether the message reports a failure. */
  readonly isFailure?: boolean
  readonly issuer?: PageIssuer
  /** The name that the form was sent with. */
  readonly name?: string
}

export const STYLE_PATH = '/sign-in/style.css'

/** The form for name and password, and a link to the issuer. */
export function signInPage({ returnTo, message, isFailure, issuer, name = '' }: SignInPage): string {
  const [inName, inPassword] = name === '' ? [' autofocus', ''] : ['', ' autofocus']
  const link =
    issuer &&
    `<p><a class="button" href="${escapeHtml(issuer.startUrl)}">Sign in with ${escapeHtml(issuer.name)}</a></p>
<p class="or">or with a user of this edge</p>`
  return page(
    'Sign in',
    `${message === undefined ? '' : notice(message, isFailure)}${link ?? ''}
<form method="post" action="/sign-in">
<input type="hidden" name="return" value="${escapeHtml(returnTo)}">
<label>User name <input name="name" value="${escapeHtml(name)}" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="256"${inName}></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required${inPassword}></label>
<button${issuer === undefined ? '' : ' class="second"'}>Sign in</button>
</form>`,
  )
}

interface NoAccessPage {
  readonly user: string
  /** The host of the issuer that signed the user in. */
  readonly issuer?: string
  /** Names of the user's roles; `undefined` if they are not known. */
  readonly roles: readonly string[] | undefined
  /** Absent: the browser or a proxy sends the credentials with each request, so the edge cannot end the sign-in. */
  readonly canSignOut: boolean
}

/** For a user who is signed in, but has no role with `operations:read`. */
export function noAccessPage({ user, issuer, roles, canSignOut }: NoAccessPage): string {
  const from = issuer === undefined ? '' : ` (${escapeHtml(issuer)})`
  const has = roles === undefined ? '' : `<p>Roles: ${roles.length === 0 ? 'none' : escapeHtml(roles.join(', '))}</p>\n`
  const leave = canSignOut
    ? `<form method="post" action="/sign-out"><button>Sign out</button></form>`
    : `<p>${BROWSER_SIGN_OUT}</p>`
  return page(
    'No access',
    `<p>You are signed in as <strong>${escapeHtml(user)}</strong>${from}.</p>
${has}<p>The console needs the permission <code>operations:read</code>. The roles <code>operator</code> and
<code>administrator</code> have it. Ask an administrator of this edge for one of them.</p>
${leave}`,
  )
}

/** The text for a user without a session: the browser or a proxy sends the credentials with each request. */
const BROWSER_SIGN_OUT =
  'The browser, or a proxy in front of the edge, sends your password with each request. To sign out, close all windows of the browser.'

/** The browser follows to the issuer, which ends its session too. */
export function signedOutPage({ name, url }: { readonly name: string; readonly url: string }): string {
  return page(
    'Signed out',
    `<p>The session of the console has ended.</p>
<p><a class="button" href="${escapeHtml(url)}">Sign out of ${escapeHtml(name)} too</a></p>`,
    `<meta http-equiv="refresh" content="0; url=${escapeHtml(url)}">\n`,
  )
}

/** Any other error, for a person who opened an address. */
export function errorPage(message: string): string {
  return page('Not available', `${notice(message, true)}<p><a href="/console/">Open the console</a></p>`)
}

function notice(message: string, isFailure = false): string {
  return `<p role="${isFailure ? 'alert' : 'status'}" class="${isFailure ? 'bad' : 'note'}">${escapeHtml(message)}</p>\n`
}

function page(title: string, body: string, head = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Manager Edge</title>
<link rel="stylesheet" href="${STYLE_PATH}">
${head}</head>
<body>
<main>
<p class="brand">Manager Edge</p>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

/** The colours of the console (packages/console/src/style.css). */
export const style = `:root {
  color-scheme: light dark;
  --ground: light-dark(#fbfbfa, #14181b);
  --paper: light-dark(#ffffff, #1a1f23);
  --text: light-dark(#1d2327, #e3e7e9);
  --quiet: light-dark(#5b656c, #9aa5ac);
  --line: light-dark(#8b9499, #6a757d);
  --accent: light-dark(#0b6478, #5cc0d6);
  --on-accent: light-dark(#ffffff, #0d1214);
  --bad: light-dark(#b3261e, #ff8d84);
  --bad-soft: light-dark(#fbe7e5, #43201d);
  --note-soft: light-dark(#e2f0f3, #16343c);
}
* { box-sizing: border-box }
body {
  margin: 0;
  background: var(--ground);
  color: var(--text);
  font: 15px / 1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
main {
  max-width: 400px;
  margin: 12vh auto 24px;
  padding: 24px;
  background: var(--paper);
  border: 1px solid var(--line);
  border-radius: 8px;
}
@media (max-width: 440px) { main { margin: 0; border: 0; border-radius: 0; background: none } }
.brand { margin: 0; color: var(--quiet); font-weight: 600 }
h1 { margin: 2px 0 16px; font-size: 20px }
label { display: block; margin: 0 0 12px }
input { display: block; width: 100%; margin-top: 4px }
input, button, .button {
  min-height: 40px;
  padding: 8px 12px;
  border: 1px solid var(--line);
  border-radius: 6px;
  background: var(--ground);
  color: inherit;
  font: inherit;
}
button, .button {
  display: block;
  width: 100%;
  background: var(--accent);
  border-color: var(--accent);
  color: var(--on-accent);
  font-weight: 600;
  text-align: center;
  text-decoration: none;
  cursor: pointer;
}
.second { background: none; color: var(--accent) }
.or { margin: 16px 0; color: var(--quiet); text-align: center }
.bad, .note { padding: 8px 12px; border-radius: 6px; overflow-wrap: anywhere }
.bad { background: var(--bad-soft); color: var(--bad) }
.note { background: var(--note-soft) }
a { color: var(--accent) }
code, strong { overflow-wrap: anywhere }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`
