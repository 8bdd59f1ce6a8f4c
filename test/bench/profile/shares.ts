/** Sums the samples of a CPU profile by room of the edge and by function. */
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { basename, dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The parts of a profile of V8 that are read here. */
export interface Profile {
  readonly nodes: readonly ProfileNode[]
  /** The node of each sample. */
  readonly samples: readonly number[]
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: {
    readonly functionName: string
    readonly url: string
    /** From 0. */
    readonly lineNumber: number
    readonly columnNumber: number
  }
}

export interface Shares {
  /** Name and share of the busy time, the largest first. */
  readonly rooms: readonly Share[]
  readonly functions: readonly Share[]
  /** The number of samples in which the process was busy. */
  readonly samples: number
  /** The share of the process's time that starting and stopping the profile took. */
  readonly profiler: number
}

type Share = readonly [name: string, share: number]

const GC = '(garbage collector)'
/** The native functions of a socket that write. */
const WRITES = /^(write(Buffer|Utf8String|Latin1String|AsciiString|Ucs2String)|writev)$/
const LIBRARIES: readonly (readonly [RegExp, string])[] = [
  [/^node:(_tls|internal\/tls|tls)/, 'node: tls'],
  [/^node:(_http|http|internal\/http)/, 'node: http'],
  [/^node:(net|internal\/(net|stream_base|streams)|stream|events)/, 'node: net, streams, events'],
  [/^node:/, 'node: other'],
]

/** Returns the shares of the busy time. Functions have the names and lines of the TypeScript source. */
export function sharesOf({ nodes, samples, timeDeltas }: Profile): Shares {
  const locate = locator()
  const byNode = new Map<number, number>()
  samples.forEach((node, at) => void byNode.set(node, (byNode.get(node) ?? 0) + Math.max(0, timeDeltas[at] ?? 0)))
  const [rooms, functions] = [new Map<string, number>(), new Map<string, number>()]
  const ignored = new Set<number>()
  let [busy, profiler] = [0, 0]
  for (const { id, callFrame } of nodes) {
    const time = byNode.get(id) ?? 0
    const isProfiler = callFrame.functionName === 'dispatch' && callFrame.url === ''
    if (isProfiler) profiler += time
    if (isProfiler || callFrame.functionName === '(idle)') ignored.add(id)
    if (time === 0 || ignored.has(id)) continue
    busy += time
    const place = locate(callFrame)
    add(rooms, roomOf(callFrame.functionName, place.file), time)
    add(functions, nameOf(callFrame.functionName, place), time)
  }
  return {
    rooms: sorted(rooms, busy),
    functions: sorted(functions, busy),
    samples: samples.filter((node) => !ignored.has(node)).length,
    profiler: profiler / (busy + profiler),
  }
}

interface Place {
  /** `src/…`, `node:…`, a path, or empty for native code. */
  readonly file: string
  /** From 1. */
  readonly line: number
}

function roomOf(name: string, file: string): string {
  if (name === GC) return 'garbage collection'
  if (name === '(program)') return 'native: event loop, reads, parser'
  if (file === '') return WRITES.test(name) ? 'native: write' : 'native: other'
  for (const [pattern, room] of LIBRARIES) if (pattern.test(file)) return room
  const library = /(?:node_modules|dist\/libraries)\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules)/.exec(file)?.[1]
  if (library !== undefined) return `library: ${library}`
  return /^src\/(?:(?!index)[\w-]+(?=\/)|[\w-]+)/.exec(file)?.[0] ?? 'other'
}

function nameOf(name: string, { file, line }: Place): string {
  const shown = name === '' ? '(anonymous)' : name
  return file === '' ? shown : `${shown}  ${file.replace(/^.*(?:node_modules|dist\/libraries)\//, '')}:${line}`
}

/** Returns a function that finds the source of a position in the build. */
function locator(): (frame: ProfileNode['callFrame']) => Place {
  const maps = new Map<string, SourceMap | undefined>()
  return ({ url, lineNumber, columnNumber }) => {
    if (!url.startsWith('file:')) return { file: url, line: lineNumber + 1 }
    const path = fileURLToPath(url)
    if (!maps.has(path)) maps.set(path, sourceMapOf(path))
    const found = maps.get(path)?.findEntry(lineNumber, columnNumber)
    if (!found || !('originalSource' in found)) return { file: path, line: lineNumber + 1 }
    const source = resolve(dirname(path), found.originalSource)
    return { file: /^.*\/(src\/.*)$/.exec(source)?.[1] ?? source, line: found.originalLine + 1 }
  }
}

function sourceMapOf(path: string): SourceMap | undefined {
  if (!existsSync(`${path}.map`)) return undefined
  const payload = JSON.parse(readFileSync(`${path}.map`, 'utf8')) as SourceMapPayload
  return new SourceMap({ ...payload, file: payload.file ?? basename(path) })
}

function add(sums: Map<string, number>, name: string, time: number): void {
  sums.set(name, (sums.get(name) ?? 0) + time)
}

function sorted(sums: ReadonlyMap<string, number>, busy: number): Share[] {
  return [...sums].map(([name, time]): Share => [name, time / busy]).sort(([, one], [, other]) => other - one)
}
