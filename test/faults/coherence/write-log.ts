/** Compares the answers to writes with what the upstream received. The path of each write is used once. */

/** After these codes a client may repeat its write (docs/errors.md): it was not carried out. */
const NOT_CARRIED_OUT = /"error":9(?:0\d|1\d|2[0147]|3[01467])[,}]/
/** The v4 contract has no code for a request without a good token. */
const UNAUTHORIZED = /^\{"title":"Unauthorized"/

/** Whether a response states that the write was not carried out. */
export function isNotCarriedOut(text: string): boolean {
  return NOT_CARRIED_OUT.test(text) || UNAUTHORIZED.test(text)
}

export interface WriteLog {
  /** Takes the outcome of a request. Reads are ignored. */
  add(outcome: { readonly method: string; readonly path: string; readonly status: number; readonly text: string }): void
  readonly answers: ReadonlyMap<string, 'carried out' | 'not carried out' | 'unknown'>
}

export function createWriteLog(): WriteLog {
  const answers = new Map<string, 'carried out' | 'not carried out' | 'unknown'>()
  return {
    answers,
    add: ({ method, path, status, text }) => {
      if (method !== 'PUT') return
      answers.set(path, status === 200 ? 'carried out' : isNotCarriedOut(text) ? 'not carried out' : 'unknown')
    },
  }
}

/** `received`: calls of the upstream, as `PUT /path`. Returns a text for each write that was sent too often or not at all. */
export function checkWrites({ answers }: WriteLog, received: Readonly<Record<string, number>>): string[] {
  return [...answers].flatMap(([path, answer]) => {
    const times = received[`PUT ${path}`] ?? 0
    const isRight = answer === 'unknown' ? times <= 1 : times === Number(answer === 'carried out')
    return isRight ? [] : [`${path} was answered as ${answer}, received ${times} times`]
  })
}
