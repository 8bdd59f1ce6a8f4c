/** Compares what clients and nodes received with what a row expects. Each difference is one sentence. */
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { Received } from './client.ts'
import type { NodeCall } from './stub-node.ts'
import { bytesOf, type Values } from './texts.ts'
import type { BodyFacts, Call, Expect, Value } from './vocabulary.ts'

const MAX_SHOWN = 160

/** `values`: of the placeholders in the expectation. */
export async function responseFaults(
  expected: Expect,
  received: readonly Received[],
  values: Values,
): Promise<string[]> {
  const statuses = received.map(({ status }) => status)
  if (expected.statuses !== undefined && statuses.join() !== expected.statuses.join()) {
    return [`statuses ${statuses.join(', ') || 'none'} instead of ${expected.statuses.join(', ')}`]
  }
  if (received.length === 0) return ['no response']
  const faults = received.map(async (each) => [
    ...(await faultsOfOne(expected, each, values)),
    ...(await faultsOfAll(expected.anyOf ?? [], each, values)),
  ])
  return grouped((await Promise.all(faults)).flat())
}

/** A fault if the response is as none of the choices. */
async function faultsOfAll(choices: NonNullable<Expect['anyOf']>, received: Received, values: Values) {
  const faults = await Promise.all(choices.map((choice) => faultsOfOne(choice, received, values)))
  const hasFitting = faults.length === 0 || faults.some((found) => found.length === 0)
  return hasFitting ? [] : [faults.flat().join(', or ')]
}

async function faultsOfOne(expected: Omit<Expect, 'anyOf'>, received: Received, values: Values): Promise<string[]> {
  const { status, interim, headers, ms } = received
  const faults: string[] = []
  const body = decoded(received)
  const allowed = [expected.status ?? []].flat()
  if (allowed.length > 0 && !allowed.includes(status)) {
    // What else differs follows from this.
    return [`status ${status} instead of ${allowed.join(' or ')}: ${body.toString().slice(0, MAX_SHOWN)}`]
  }
  if (expected.interim !== undefined && interim.join() !== expected.interim.join()) {
    faults.push(`interim responses ${interim.join(', ') || 'none'} instead of ${expected.interim.join(', ') || 'none'}`)
  }
  for (const [name, wanted] of Object.entries(expected.headers ?? {})) {
    faults.push(...(await valueFaults(`header ${name}`, headers.get(name.toLowerCase()), wanted, values)))
  }
  if (expected.codings !== undefined) faults.push(...codingFaults(expected.codings, received, body))
  if (expected.body !== undefined) faults.push(...(await bodyFaults('body', body, expected.body, values)))
  if (expected.withinMs !== undefined && ms > expected.withinMs) {
    faults.push(`took ${Math.round(ms)} ms, more than ${expected.withinMs} ms`)
  }
  return faults
}

/** The same fault of many responses is one fault, with their number. */
function grouped(faults: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const fault of faults) counts.set(fault, (counts.get(fault) ?? 0) + 1)
  return [...counts].map(([fault, count]) => (count === 1 ? fault : `${count} times ${fault}`))
}

async function valueFaults(what: string, found: string | undefined, wanted: Value, values: Values): Promise<string[]> {
  const shown = found === undefined ? `${what} is absent` : `${what} is ${found.slice(0, MAX_SHOWN)}`
  if (wanted === null) return found === undefined ? [] : [`${shown} instead of absent`]
  if (typeof wanted === 'number') return Number(found) === wanted ? [] : [`${shown} instead of ${wanted}`]
  if (typeof wanted === 'string') {
    const text = (await bytesOf(wanted, values)).toString()
    return found === text ? [] : [`${shown} instead of ${text}`]
  }
  const { matches, excludes, atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = wanted
  const faults: string[] = []
  if (matches !== undefined && !new RegExp(matches).test(found ?? '')) faults.push(`${shown}, not as ${matches}`)
  if (excludes !== undefined && new RegExp(excludes).test(found ?? '')) faults.push(`${shown}, as ${excludes}`)
  const isBounded = wanted.atLeast !== undefined || wanted.atMost !== undefined
  if (isBounded && !(Number(found) >= atLeast && Number(found) <= atMost)) {
    faults.push(`${shown}, not from ${atLeast} to ${atMost}`)
  }
  return faults
}

function codingFaults(codings: readonly string[], { headers }: Received, body: Buffer): string[] {
  const coding = headers.get('content-encoding') ?? 'identity'
  if (!codings.includes(coding)) return [`coding ${coding} instead of ${codings.join(' or ')}`]
  return isJson(body) ? [] : [`the decoded body is not JSON: ${body.toString().slice(0, MAX_SHOWN)}`]
}

async function bodyFaults(what: string, body: Buffer, expected: BodyFacts, values: Values): Promise<string[]> {
  const text = body.toString()
  const shown = `${what} ${text.slice(0, MAX_SHOWN)}`
  const faults: string[] = []
  if (expected.is !== undefined && !body.equals(await bytesOf(expected.is, values))) faults.push(`${shown} is another`)
  if (expected.json !== undefined && !(isJson(body) && includes(JSON.parse(text), expected.json))) {
    faults.push(`${shown} lacks ${JSON.stringify(expected.json)}`)
  }
  for (const part of expected.contains ?? []) {
    if (!text.includes((await bytesOf(part, values)).toString())) faults.push(`${shown} lacks ${part}`)
  }
  for (const part of expected.excludes ?? []) {
    if (text.includes((await bytesOf(part, values)).toString())) faults.push(`${shown} contains ${part}`)
  }
  if (expected.matches !== undefined && !new RegExp(expected.matches).test(text)) {
    faults.push(`${shown}, not as ${expected.matches}`)
  }
  return faults
}

/** Compares the calls that a node received with those that a row names. */
export async function callFaults(expected: Call, calls: readonly NodeCall[], values: Values): Promise<string[]> {
  const to = (await bytesOf(expected.to, values)).toString()
  const found = calls.filter(({ method, url }) => `${method} ${url}`.startsWith(to))
  const { atLeast, atMost } =
    typeof expected.count === 'number'
      ? { atLeast: expected.count, atMost: expected.count }
      : { atLeast: expected.count === undefined ? 1 : 0, atMost: Number.POSITIVE_INFINITY, ...expected.count }
  const faults: string[] = []
  if (found.length < atLeast || found.length > atMost) {
    const bounds = atLeast === atMost ? `${atLeast}` : `${atLeast} to ${atMost}`
    faults.push(`${found.length} calls ${to} reached a node instead of ${bounds}`)
  }
  for (const { headers, body } of found) {
    for (const [name, wanted] of Object.entries(expected.headers ?? {})) {
      const value = headers[name.toLowerCase()]
      faults.push(...(await valueFaults(`${to} with header ${name}`, value?.toString(), wanted, values)))
    }
    if (expected.body !== undefined) {
      faults.push(...(await bodyFaults(`${to} with body`, Buffer.from(body), expected.body, values)))
    }
  }
  return grouped(faults)
}

function decoded({ headers, body }: Received): Buffer {
  if (body.length === 0) return body
  const coding = headers.get('content-encoding')
  if (coding === 'gzip') return gunzipSync(body)
  if (coding === 'br') return brotliDecompressSync(body)
  return coding === 'deflate' ? inflateSync(body) : body
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString())
    return true
  } catch {
    return false
  }
}

/** Objects may have more members, lists more items behind. */
function includes(found: unknown, wanted: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return Object.is(found, wanted)
  if (typeof found !== 'object' || found === null) return false
  return Object.entries(wanted).every(([key, value]) => includes(found[key as keyof typeof found], value))
}
