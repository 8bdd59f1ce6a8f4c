/**
 * The two processes of a node that check tokens in turn. Each remembers the tokens that it has accepted. An end of tokens
 * reaches one of them only, so the other one accepts ended tokens until it forgets them.
 */

interface Acceptance<Session> {
  readonly session: Session
  readonly until: number
}

export class TokenCheckers<Session> {
  readonly #rememberMs: number
  readonly #now: () => Date
  readonly #nodes = new Map<
    string,
    { readonly caches: [Map<string, Acceptance<Session>>, Map<string, Acceptance<Session>>]; turn: 0 | 1 }
  >()

  constructor(rememberMs: number, now: () => Date) {
    this.#rememberMs = rememberMs
    this.#now = now
  }

  /** Returns the session that the process whose turn it is remembers, or that of `check`, which throws for bad tokens. */
  check(node: string, token: string, check: () => Session): Session {
    if (this.#rememberMs === 0) return check()
    const own = this.#nodes.get(node) ?? { caches: [new Map(), new Map()], turn: 0 }
    this.#nodes.set(node, own)
    const cache = own.caches[own.turn]
    own.turn = own.turn === 0 ? 1 : 0
    const now = this.#now().getTime()
    const known = cache.get(token)
    if (known !== undefined && now < known.until) return known.session
    cache.delete(token)
    const session = check()
    cache.set(token, { session, until: now + this.#rememberMs })
    return session
  }

  /** An end of tokens reaches the first process of each node. */
  endAcceptances(): void {
    for (const { caches } of this.#nodes.values()) caches[0].clear()
  }

  forget(): void {
    this.#nodes.clear()
  }
}
