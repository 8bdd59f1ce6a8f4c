/** The console API about the caller itself. */

export interface Account {
  /** The name at the issuer, or in the users file. */
  readonly user: string
  /** The host of the issuer that signed the user in. Absent: a user of this edge. */
  readonly issuer?: string
  /** `null`: not known, because the credentials are a token of another issuer. */
  readonly roles: readonly string[] | null
  readonly permissions: readonly string[]
  /** Absent: the browser or a proxy sends the credentials with each request, so that the edge cannot end the sign-in. */
  readonly session?: {
    /** Milliseconds until the session ends. */
    readonly endsIn: number
  }
}

/** The response to `POST /sign-out`. */
export interface SignedOut {
  /** Where the browser goes: the page for signing in, or the page of the issuer that ends its session. */
  readonly next: string
}
