/** What the pages and the routes of a sign-in share: headers, paths, and the link to the issuer. */
import type { Issuer } from './issuer.ts'
import type { PageIssuer } from './pages.ts'

export const START_PATH = '/sign-in/issuer'
export const CALLBACK_PATH = '/sign-in/callback'

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // With `no-referrer`, browsers send forms with `Origin: null`, which does not prove that the page is the edge's own.
  'referrer-policy': 'same-origin',
} as const

/**
 * The link leads to the host of the redirect URL, even if the page was opened by another name: only that host receives
 * the cookie that completes the sign-in.
 */
export function pageIssuer(issuer: Issuer | undefined, returnTo: string): PageIssuer | undefined {
  if (issuer === undefined) return undefined
  const startUrl = `${originOf(issuer)}${START_PATH}?return=${encodeURIComponent(returnTo)}`
  return { name: issuer.name, startUrl }
}

export function originOf({ settings }: Issuer): string {
  return new URL(settings.redirectUrl).origin
}
