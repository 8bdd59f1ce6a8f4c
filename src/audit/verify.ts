/**
 * Verifies audit files. Detected: records that were changed, removed, inserted or moved, and an end that was cut off
 * after the process had closed its file, or if the last digest is given. Not detected from the file alone: records cut
 * off the end of a file that was never closed (the process still runs, or was killed), and a file that was rewritten as
 * a whole.
 */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { MAX_RECORD_BYTES } from './open-file.ts'
import { type ChainLink, type ParsedRecord, parseRecord } from './record.ts'

interface Verification {
  /** One sentence for each fault, with file and line. */
  readonly faults: readonly string[]
  /** Observations that are no faults. */
  readonly notes: readonly string[]
  readonly records: number
  readonly last: ChainLink | undefined
}

interface VerifyOptions {
  /** The digest that the last record must have, noted elsewhere. */
  readonly last?: string
}

type LocatedRecord = ParsedRecord & { readonly location: string }

/** Verifies the files of one replica, in any order, and leaves out their locks. Rejects if a file cannot be read. */
export async function verifyAudit(paths: readonly string[], { last }: VerifyOptions = {}): Promise<Verification> {
  const verifier = new ChainVerifier()
  const locks = new Set(paths.map((path) => `${path}.lock`))
  for (const file of await sortBySequence(paths.filter((path) => !locks.has(path)))) {
    let number = 0
    for await (const text of linesOf(file)) {
      number += 1
      verifier.addLine(text, `${file}:${number}`)
    }
  }
  return verifier.finish(last)
}

/** Sorts by the first sequence number: a shell lists the current file before the rotated ones. */
async function sortBySequence(files: readonly string[]): Promise<readonly string[]> {
  const withSeq = await Promise.all(files.map(async (file) => ({ file, seq: await firstSeqOf(file) })))
  return withSeq.sort((a, b) => a.seq - b.seq).map(({ file }) => file)
}

async function firstSeqOf(file: string): Promise<number> {
  for await (const text of linesOf(file, MAX_RECORD_BYTES)) {
    const record = parseRecord(text)
    if (record !== undefined) return record.seq
  }
  return Number.MAX_SAFE_INTEGER
}

function linesOf(file: string, end?: number): AsyncIterable<string> {
  const input = createReadStream(file, end === undefined ? {} : { end })
  return createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
}

class ChainVerifier {
  readonly #faults: string[] = []
  readonly #notes: string[] = []
  /** Locations of intents without an outcome, by request id. */
  readonly #openIntents = new Map<string, string>()
  #records = 0
  #previous: LocatedRecord | undefined
  /** Locations of the lines since the previous record that are no records. */
  #invalidLines: string[] = []

  addLine(text: string, location: string): void {
    if (text === '') return
    const parsed = parseRecord(text)
    if (parsed === undefined) {
      this.#invalidLines.push(location)
      return
    }
    this.#records += 1
    const record = { ...parsed, location }
    this.#reportInvalidLines(record)
    if (record.isChanged) this.#faults.push(`${location}: record ${record.seq} was changed after it was written`)
    this.#compareWithPrevious(record)
    this.#pairIntent(record)
    this.#previous = record
  }

  finish(expectedDigest: string | undefined): Verification {
    const end = this.#previous
    const torn = this.#invalidLines.pop()
    for (const location of this.#invalidLines) this.#faults.push(`${location}: not an audit record`)
    if (torn !== undefined) this.#faults.push(`${torn}: the last record is incomplete`)
    for (const [request, location] of this.#openIntents) {
      this.#notes.push(`${location}: no outcome of request ${request}`)
    }
    if (expectedDigest !== undefined && end?.digest !== expectedDigest) {
      const location = end?.location ?? 'the files'
      this.#faults.push(`${location}: the last record does not have the digest given by --last; the end was cut off`)
    }
    if (expectedDigest === undefined && end !== undefined && end.kind !== 'closed') {
      const reason =
        'the process still runs or was killed, or the end was cut off; --last with a digest noted elsewhere detects a cut'
      this.#notes.push(`${end.location}: the file was not closed; ${reason}`)
    }
    const last = end === undefined ? undefined : { seq: end.seq, digest: end.digest }
    return { faults: this.#faults, notes: this.#notes, records: this.#records, last }
  }

  /**
   * Incomplete lines are no fault if the next record is marked `torn` and is linked to the record before them. There are
   * several if the disk was full again before that record could be written.
   */
  #reportInvalidLines(next: LocatedRecord): void {
    const isExpected = next.torn && next.before === this.#previous?.digest
    for (const location of this.#invalidLines) {
      if (isExpected)
        this.#notes.push(`${location}: incomplete; the process ended or the disk was full during the write`)
      else this.#faults.push(`${location}: not an audit record; the line was changed or inserted`)
    }
    this.#invalidLines = []
  }

  #compareWithPrevious(record: LocatedRecord): void {
    const { location, seq, before } = record
    const previous = this.#previous
    if (previous === undefined) {
      if (seq === 1) return
      const message = `${location}: begins with record ${seq}; the records before it are not in these files`
      // A file normally begins with the record of the process that opened it.
      if (record.kind === 'opened') this.#notes.push(message)
      else this.#faults.push(`${message}, or were removed`)
      return
    }
    if (before === previous.digest && seq === previous.seq + 1) return
    if (seq > previous.seq + 1) {
      const removed =
        seq === previous.seq + 2 ? `record ${seq - 1} was` : `records ${previous.seq + 1} to ${seq - 1} were`
      this.#faults.push(`${location}: ${removed} removed before this record`)
    } else if (seq <= previous.seq) {
      const reason =
        seq === 1
          ? 'a new chain begins: of another replica, or the earlier files were moved while no process wrote them'
          : 'records were moved, duplicated or inserted, or two processes wrote this file at the same time'
      this.#faults.push(`${location}: record ${seq} follows record ${previous.seq}; ${reason}`)
    } else {
      this.#faults.push(
        `${location}: record ${seq} is not linked to record ${previous.seq}; one of them was changed or inserted`,
      )
    }
  }

  #pairIntent({ kind, request, location }: LocatedRecord): void {
    if (request === undefined) return
    if (kind === 'intent') this.#openIntents.set(request, location)
    else if (kind === 'outcome') this.#openIntents.delete(request)
  }
}
