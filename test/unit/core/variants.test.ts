import { readFileSync } from 'node:fs'
import t from 'tap'
import type { CacheStages } from '../../../src/cache/index.ts'
import type { WriteLockPorts, writeLockStage } from '../../../src/cache/write-locks.ts'
import type { EdgeRead, EdgeWrite, Handler } from '../../../src/core/request.ts'
import type { AllRowsOrigin, CachedResponse, EdgeOrigin, Origin, StorableOrigin } from '../../../src/core/response.ts'
import type { PipelineParts } from '../../../src/pipeline.ts'

/** Whether a stage or a handler takes requests of this kind; the compiler computes it. */
type Takes<Part, Request> = Part extends (next: Handler<infer R>) => Handler<infer R>
  ? Request extends R
    ? true
    : false
  : Part extends (request: infer R) => unknown
    ? Request extends R
      ? true
      : false
    : never

type MultiNode = ReturnType<NonNullable<PipelineParts['multiNode']>>
type Part<Name extends keyof MultiNode> = NonNullable<MultiNode[Name]>

t.test('the compiler keeps writes out of the cache, and reads out of locks and fences', (t) => {
  const writeInCache: Takes<CacheStages['readThrough'], EdgeWrite> = false
  const readInCache: Takes<CacheStages['readThrough'], EdgeRead> = true
  const readInFence: Takes<CacheStages['invalidate'], EdgeRead> = false
  const readInLock: Takes<ReturnType<typeof writeLockStage>, EdgeRead> = false
  const readForLock: Takes<WriteLockPorts['timeoutOf'], EdgeRead> = false
  const writeInCollections: Takes<Part<'joinCollections'>, EdgeWrite> = false
  const writeInVerdicts: Takes<Part<'joinVerdicts'>, EdgeWrite> = false
  const readInWrites: Takes<Part<'joinWrites'>, EdgeRead> = false
  const proofs = [writeInCache, readInFence, readInLock, readForLock, writeInCollections, writeInVerdicts, readInWrites]
  t.ok(readInCache)
  t.ok(proofs.every((takes) => !takes))
  t.end()
})

/** Returns the optional fields of the interfaces of a file with these names. */
function optionalFields(file: string, names: readonly string[]): readonly string[] {
  const text = readFileSync(new URL(`../../../src/core/${file}`, import.meta.url), 'utf8')
  const bodyOf = (name: string) => new RegExp(`interface ${name}\\b[^{]*\\{(.*?)\\n\\}`, 's').exec(text)?.[1] ?? '?:'
  return names.flatMap((name) => [...bodyOf(name).matchAll(/(\w*)\?:/g)].map(([, field]) => `${name}.${field}`))
}

t.test('a response has no field that is set in some of its variants only', (t) => {
  const origins = ['EdgeOrigin', 'NodeOrigin', 'MadeOfParts', 'JoinedOrigin', 'AllRowsOrigin', 'SnapshotOrigin']
  const stored = ['ComputedOrigin', 'StoredOrigin', 'FetchedOrigin', 'TrialOrigin']
  const optional = optionalFields('response.ts', ['FileResponse', 'EnvelopeResponse', ...origins, ...stored])
  t.strictSame(optional, ['FileResponse.length', 'StoredOrigin.repeat'])
  t.end()
})

t.test('the compiler stores only what may be stored', (t) => {
  type Stores<From extends Origin> = From extends StorableOrigin ? true : false
  const storesPartOfAllRows: Stores<AllRowsOrigin> = false
  const storesTwice: Stores<CachedResponse> = false
  const storesOfEdge: Stores<EdgeOrigin> = false
  t.notOk(storesPartOfAllRows || storesTwice || storesOfEdge)
  t.end()
})

t.test('a request has no field that is set in some of its variants only', (t) => {
  t.strictSame(optionalFields('request.ts', ['AnyRequest', 'EdgeRead', 'EdgeWrite']), ['AnyRequest.trace'])
  t.end()
})
