/** Pages whose plugins are loaded at the first request. */
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'

/** The listener sets these itself. */
const OWN_HEADERS = ['connection', 'date', 'keep-alive', 'transfer-encoding']

/**
 * Registers GET and HEAD of the paths of pages whose plugins are loaded at the first request: the start needs none of them.
 * A second app answers them, because an app that listens accepts no more plugins. The hooks of the listener run as for every
 * other route, and all errors have its form.
 */
export function registerLatePages(
  app: FastifyInstance,
  paths: readonly string[],
  register: (pages: FastifyInstance) => Promise<void>,
): void {
  let loaded: Promise<FastifyInstance> | undefined
  const failures = new WeakMap<object, Error>()
  const load = async () => {
    const pages = Fastify()
    pages.setErrorHandler((error: Error, { raw }, reply) => {
      failures.set(raw, error)
      return reply.code(500).send()
    })
    await register(pages)
    await pages.ready()
    return pages
  }
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    loaded ??= load().catch((error: unknown) => {
      // The next request tries again.
      loaded = undefined
      throw error
    })
    const { statusCode, headers, rawPayload, raw } = await (await loaded).inject({
      method: request.method === 'HEAD' ? 'HEAD' : 'GET',
      url: request.url,
      headers: request.headers,
    })
    if (statusCode === 404) return reply.callNotFound()
    const failure = failures.get(raw.req)
    if (failure !== undefined) throw failure
    for (const name of OWN_HEADERS) delete headers[name]
    // Without a body (304, HEAD), an empty buffer would set the length to 0.
    return reply
      .code(statusCode)
      .headers(headers)
      .send(rawPayload.length === 0 ? undefined : rawPayload)
  }
  for (const url of paths) app.route({ method: ['GET', 'HEAD'], url, handler: answer })
  app.addHook('onClose', async () => {
    // The request that waits for a load gets its failure.
    const pages = await loaded?.catch(() => undefined)
    await pages?.close()
  })
}
