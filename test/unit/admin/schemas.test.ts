import { Ajv } from 'ajv'
import Fastify from 'fastify'
import t from 'tap'
import { registerCacheRoutes } from '../../../src/admin/console/cache-routes.ts'
import { registerHistoryRoute } from '../../../src/admin/console/history-routes.ts'
import { registerLiveRoutes } from '../../../src/admin/console/live-routes.ts'
import { registerNodeRoutes } from '../../../src/admin/console/node-routes.ts'
import type { ConsolePorts } from '../../../src/admin/console/ports.ts'
import { registerRequestRoutes } from '../../../src/admin/console/request-routes.ts'

t.test('every schema of the console API compiles without a warning, although a start compiles none', async (t) => {
  const schemas: [name: string, schema: object][] = []
  const app = Fastify({ logger: false })
  app.setValidatorCompiler(() => () => true)
  app.addHook('onRoute', ({ method, url, schema = {} }) => {
    for (const part of ['body', 'querystring', 'params'] as const)
      if (schema[part] !== undefined) schemas.push([`${method} ${url} ${part}`, schema[part] as object])
  })
  // The routes use the ports only for requests.
  const ports = { history: {}, index: { purgeCount: () => 0 } } as unknown as ConsolePorts
  registerLiveRoutes(app, ports)
  registerNodeRoutes(app, ports)
  registerRequestRoutes(app, ports)
  registerCacheRoutes(app, ports)
  registerHistoryRoute(app, ports.history)
  await app.ready()
  t.teardown(() => app.close())
  t.ok(schemas.length > 5, 'schemas were found')
  const ajv = new Ajv({ strict: true, strictTypes: true, strictRequired: false, logger: { ...console, warn: t.fail } })
  for (const [name, schema] of schemas) t.doesNotThrow(() => ajv.compile(schema), name)
})
