/**
 * Was anything of an audit changed? Found: a line that was changed, taken out, put in or moved, and an end that was cut
 * off after the process had closed its file, or where the last digest is known. Not found by the file alone: lines cut
 * off the end of a file that was never closed (the process still runs, or was killed), and a file made anew as a whole.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { type Read, readLine } from './record.ts'

export interface Verdict {
  /** One sentence each, with file and line. */
  readonly faults: readonly string[]
  /** What is no fault, but good to know. */
  readonly notes: readonly string[]
  readonly lines: number
  readonly last: { readonly seq: number; readonly digest: string } | undefined
}

export interface VerifyOptions {
  /** The digest that the last line must have, from elsewhere. */
  readonly last?: string
}

type Seen = Read & { readonly changed: boolean; readonly place: string }

/** Bytes in which the first line of a file is found. */
const LONGEST = 256 * 1024

/** Files of one replica, in any order. Rejects when one cannot be read. */
export async function verifyAudit(files: readonly string[], { last }: VerifyOptions = {}): Promise<Verdict> {
  const chain = new Chain()
  for (const file of await inOrder(files)) {
    let number = 0
    for await (const text of linesOf(file)) {
      number += 1
      chain.take(text, `${file}:${number}`)
    }
  }
  return chain.verdict(last)
}

/** By the numbers of their lines: a shell lists the file that is written before those that were put aside. */
async function inOrder(files: readonly string[]): Promise<readonly string[]> {
  const begun = await Promise.all(files.map(async (file) => ({ file, seq: await firstOf(file) })))
  return begun.sort((a, b) => a.seq - b.seq).map(({ file }) => file)
}

async function firstOf(file: string): Promise<number> {
  for await (const text of linesOf(file, LONGEST)) {
    const read = readLine(text)
    if (read !== undefined) return read.seq
  }
  return Number.MAX_SAFE_INTEGER
}

function linesOf(file: string, end?: number): AsyncIterable<string> {
  const input = createReadStream(file, end === undefined ? {} : { end })
  return createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
}

class Chain {
  readonly #faults: string[] = []
  readonly #notes: string[] = []
  readonly #open = new Map<string, string>()
  #lines = 0
  #before: Seen | undefined
  /** Places of what is no line, one after the other. */
  #broken: string[] = []

  take(text: string, place: string): void {
    if (text === '') return
    const read = readLine(text)
    if (read === undefined) {
      this.#broken.push(place)
      return
    }
    this.#lines += 1
    const seen = { ...read, place }
    this.#judgeBroken(seen)
    if (read.changed) this.#faults.push(`${place}: line ${read.seq} was changed after it was written`)
    this.#compare(seen)
    this.#pair(seen)
    this.#before = seen
  }

  verdict(last: string | undefined): Verdict {
    const end = this.#before
    const torn = this.#broken.pop()
    for (const place of this.#broken) this.#faults.push(`${place}: no line of an audit`)
    if (torn !== undefined) this.#faults.push(`${torn}: the last line is not whole`)
    for (const [request, place] of this.#open) this.#notes.push(`${place}: no outcome of request ${request}`)
    if (last !== undefined && end?.digest !== last) {
      this.#faults.push(
        `${end?.place ?? 'the files'}: the last line has not the digest that was given; the end was cut off`,
      )
    }
    if (last === undefined && end !== undefined && end.kind !== 'closed') {
      const why =
        'the process still runs or was killed, or the end was cut off: only --last with a digest noted elsewhere tells'
      this.#notes.push(`${end.place}: the file was not closed; ${why}`)
    }
    const known = end === undefined ? undefined : { seq: end.seq, digest: end.digest }
    return { faults: this.#faults, notes: this.#notes, lines: this.#lines, last: known }
  }

  /**
   * Torn lines are no fault where what was written next says so, and joins its chain to the line before. There are
   * several where the disk was full again before that could be said.
   */
  #judgeBroken(seen: Seen): void {
    const expected = seen.torn && seen.before === this.#before?.digest
    for (const place of this.#broken) {
      if (expected)
        this.#notes.push(`${place}: not whole; the process ended, or the disk was full, while it was written`)
      else this.#faults.push(`${place}: no line of an audit; it was changed, or put in`)
    }
    this.#broken = []
  }

  #compare(seen: Seen): void {
    const { place, seq, before } = seen
    const last = this.#before
    if (last === undefined) {
      if (seq === 1) return
      const told = `${place}: begins with line ${seq}; what came before is not among these files`
      // Each file begins with the line of the process that opened it.
      if (seen.kind === 'opened') this.#notes.push(told)
      else this.#faults.push(`${told}, or was taken out`)
      return
    }
    if (before === last.digest && seq === last.seq + 1) return
    if (seq > last.seq + 1) {
      const gone = seq === last.seq + 2 ? `line ${seq - 1} was` : `lines ${last.seq + 1} to ${seq - 1} were`
      this.#faults.push(`${place}: ${gone} taken out before this line`)
    } else if (seq <= last.seq) {
      const why =
        seq === 1
          ? 'a chain of its own begins: of another replica, or the files before were taken away while no process wrote them'
          : 'lines were moved, doubled or put in, or two processes wrote this file at once'
      this.#faults.push(`${place}: line ${seq} stands after line ${last.seq}; ${why}`)
    } else {
      this.#faults.push(`${place}: line ${seq} does not join on line ${last.seq}; one of them was changed or put in`)
    }
  }

  #pair({ kind, request, place }: Seen): void {
    if (request === undefined) return
    if (kind === 'intent') this.#open.set(request, place)
    else if (kind === 'outcome') this.#open.delete(request)
  }
}
