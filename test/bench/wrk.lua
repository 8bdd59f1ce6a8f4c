-- Runs in the load generator wrk (load.ts starts it). Counts the requests of the measured time and compares every
-- response with the one that the case expects. Environment:
--   BENCH_FROM, BENCH_UNTIL   the measured time, seconds since 1970
--   BENCH_EACH                "1": compare every response
--   BENCH_STATUS, BENCH_LENGTH, BENCH_ENCODING   status, bytes of the body, Content-Encoding ("" = none)
--   BENCH_CACHE               the beginning of Cache-Status ("" = no such header)
-- Prints "measured N, compared N, wrong N, bytes N, failed N".
local ffi = require('ffi')
ffi.cdef('typedef struct { long seconds; long nanoseconds; } bench_time; int clock_gettime(int, bench_time *);')

local clock = ffi.new('bench_time')
local from, till = tonumber(os.getenv('BENCH_FROM')), tonumber(os.getenv('BENCH_UNTIL'))
local text
local threads = {}
measured, compared, wrong = 0, 0, 0

function setup(thread)
  threads[#threads + 1] = thread
end

function init()
  text = wrk.format()
end

-- A connection sends its next request when it has the response of the one before.
function request()
  ffi.C.clock_gettime(0, clock)
  local now = tonumber(clock.seconds) + tonumber(clock.nanoseconds) / 1e9
  if now >= from and now < till then measured = measured + 1 end
  return text
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
