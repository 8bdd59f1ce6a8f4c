import { createKinds } from '../../../src/upstream/kinds.ts'
import type { Router } from '../../../src/upstream/routers.ts'

/** Returns the candidates of requests to a cluster with this mode, or with the v4 layout if the view shows it. */
export function routerOf(mode: 'manager' | 'edge'): Router {
  const kindOf = createKinds(mode)
  return (request, view) => kindOf(view).route(request, view)
}
