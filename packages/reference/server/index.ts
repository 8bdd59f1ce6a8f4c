/**
 * The reference of the public API, a plugin for the operations listener: for programs `/openapi.json` and, of the v4 contract,
 * `/openapi-v4.json`; for people pages under `/docs` and `/docs-v4`. The build writes the files (`write.ts`).
 */
import { readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { stringify } from 'yaml'
import { pagePolicy } from '../../../src/admin/listener.ts'

const pages = [
  { contract: 'v3', path: '/docs', json: '/openapi.json' },
  { contract: 'v4', path: '/docs-v4', json: '/openapi-v4.json' },
] as const

interface ReferenceOptions {
  readonly documents: Readonly<Record<(typeof pages)[number]['contract'], ApiDocument>>
  /** The folder of the files. Undefined if this installation leaves them out. */
  readonly folder: string | undefined
}

interface ApiDocument {
  /** Returns the response with the document: with an entity tag, and compressed if the client accepts it. */
  readonly represent: (headers: IncomingHttpHeaders) => Promise<{
    readonly status: number
    readonly headers: readonly string[]
    readonly bytes?: Buffer
  }>
}

export const operationsPlugin: FastifyPluginAsync<ReferenceOptions> = async (app, { documents, folder }) => {
  if (folder === undefined) return
  for (const { contract, path, json } of pages) {
    const { represent } = documents[contract]
    for (const url of [json, `${path}/json`])
      app.get(url, async ({ headers }, reply) => {
        const { status, headers: pairs, bytes } = await represent(headers)
        for (let at = 0; at < pairs.length; at += 2) reply.header(pairs[at] ?? '', pairs[at + 1])
        return reply.code(status).send(bytes)
      })
    const text = async () => String((await represent({})).bytes)
    await app.register(async (pages) => registerPage(pages, { path, folder, text }))
  }
}

interface PageOptions {
  readonly path: string
  readonly folder: string
  /** Returns the document as JSON. */
  text(): Promise<string>
}

async function registerPage(pages: FastifyInstance, { path, folder, text }: PageOptions): Promise<void> {
  // Inline scripts, inline styles and other hosts are forbidden.
  pages.addHook('onSend', async (_request, reply) => {
    reply.header('content-security-policy', pagePolicy())
  })
  for (const [url, file] of [
    [path, `${path}.html`],
    [`${path}/`, `${path}-slash.html`],
  ] as const)
    pages.get(url, async (_request, reply) =>
      reply.type('text/html; charset=utf-8').send(await readFile(join(folder, file))),
    )
  pages.get(`${path}/static/index.html`, async (_request, reply) => reply.redirect(`${path}/`))
  pages.get(`${path}/yaml`, async (_request, reply) =>
    reply.type('application/x-yaml').send(stringify(JSON.parse(await text()), { strict: false })),
  )
  await pages.register(fastifyStatic, { root: join(folder, 'static'), prefix: `${path}/static/` })
}
