// Node.js 20 cannot run TypeScript. These hooks remove the types; `npm run types` checks them.
import { register } from 'node:module'

register('./hooks.mjs', import.meta.url)
