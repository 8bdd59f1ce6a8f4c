-- Runs in the load generator wrk (load.ts starts it). Counts the requests of the measured time and compares every
-- response with the one that the case expects. Environment:
--   BENCH_FROM, BENCH_UNTIL   the measured time, seconds since 1970
--   BENCH_EACH                "1": compare every response
--   BENCH_STATUS, BENCH_LENGTH, BENCH_ENCODING   status, bytes of the body, Content-Encoding ("" = none)
--   BENCH_CACHE               the beginning of Cache-Status ("" = no such header)
--   BENCH_USERS               one Authorization header per line; absent: each request has the bytes of the first one
--   BENCH_URLS                with BENCH_USERS: paths, one per line, the most frequent first
--   BENCH_NUMBER              added to the path of the first request; each later one has the next number
-- Prints "measured N, compared N, wrong N, bytes N, failed N".
local ffi = require('ffi')
ffi.cdef('typedef struct { long seconds; long nanoseconds; } bench_time; int clock_gettime(int, bench_time *);')

local clock = ffi.new('bench_time')
local from, till = tonumber(os.getenv('BENCH_FROM')), tonumber(os.getenv('BENCH_UNTIL'))
local text, before, after
local threads = {}
measured, compared, wrong = 0, 0, 0

function setup(thread)
  threads[#threads + 1] = thread
end

local function lines(name)
  local list = {}
  for line in (os.getenv(name) or ''):gmatch('[^\n]+') do list[#list + 1] = line end
  return list
end

local number = tonumber(os.getenv('BENCH_NUMBER'))
local users, urls = lines('BENCH_USERS'), lines('BENCH_URLS')
local random = math.random

-- Zipf's law: the path at place n is requested 1/n times as often as the first one. One of 4,096 prepared draws is used
-- for each request, because a draw by search costs more than the rest of the request.
local draws = {}
for place = 1, #urls do
  local sum = 0
  for at = 1, #urls do sum = sum + 1 / at end
  for _ = 1, math.max(1, math.floor(4096 / place / sum + 0.5)) do draws[#draws + 1] = urls[place] end
end

local function hex(digits)
  return ('%08x%08x%08x%08x'):format(random(0, 0x7fffffff), random(0, 0x7fffffff), random(0, 0x7fffffff), random(0, 0x7fffffff)):sub(1, digits)
end

-- A request of one of 1,016 addresses as balancers and libraries of clients send it: no two have the same bytes.
local function ownText()
  local headers = {
    ['Host'] = wrk.headers['Host'],
    ['Authorization'] = users[random(#users)],
    ['Accept'] = 'application/json',
    ['User-Agent'] = 'python-requests/2.32.3',
    ['X-Forwarded-For'] = ('10.0.%d.%d'):format(random(0, 3), random(1, 254)),
    ['X-Forwarded-Proto'] = 'https',
    ['X-Request-Id'] = hex(32),
    ['traceparent'] = '00-' .. hex(32) .. '-' .. hex(16) .. '-00',
  }
  return wrk.format('GET', draws[random(#draws)], headers)
end

-- The same request, for another URL each time.
local function numbered()
  number = number + 1
  return before .. ('%d'):format(number) .. after
end

function init()
  text = wrk.format()
  before, after = text:match('^(%S+ %S+)(.*)$')
end

-- A connection sends its next request when it has the response of the one before.
function request()
  ffi.C.clock_gettime(0, clock)
  local now = tonumber(clock.seconds) + tonumber(clock.nanoseconds) / 1e9
  if now >= from and now < till then measured = measured + 1 end
  if number then return numbered() end
  return #users > 0 and ownText() or text
end

if os.getenv('BENCH_EACH') == '1' then
  local expected = {
    status = tonumber(os.getenv('BENCH_STATUS')),
    length = tonumber(os.getenv('BENCH_LENGTH')),
    encoding = os.getenv('BENCH_ENCODING'),
    cache = os.getenv('BENCH_CACHE'),
  }
  function response(status, headers, body)
    compared = compared + 1
    local encoding = headers['content-encoding'] or headers['Content-Encoding'] or ''
    local cache = headers['cache-status'] or headers['Cache-Status'] or ''
    if
      status ~= expected.status
      or #body ~= expected.length
      or encoding ~= expected.encoding
      or cache:sub(1, #expected.cache) ~= expected.cache
      or (expected.cache == '' and cache ~= '')
    then
      wrong = wrong + 1
    end
  end
end

function done(summary)
  local sum = { measured = 0, compared = 0, wrong = 0 }
  for _, thread in ipairs(threads) do
    for name in pairs(sum) do
      sum[name] = sum[name] + thread:get(name)
    end
  end
  local errors = summary.errors
  local failed = errors.status + errors.connect + errors.read + errors.write
  local format = 'measured %d, compared %d, wrong %d, bytes %d, failed %d'
  print(format:format(sum.measured, sum.compared, sum.wrong, summary.bytes, failed))
end
