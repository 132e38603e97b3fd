-- What `cargo xtask scale-out bench` runs over the accounts of testkit's bank, under sysbench.

sysbench.cmdline.options = {
   work = {"point, transfer, plain, one-phase or xa", "point"},
   accounts = {"How many accounts there are", 10000},
   run = {"A number that no other run has", 0}
}

function thread_init()
   con = sysbench.sql.driver():connect()
   lines = 0
   first_line = (sysbench.opt.run * 1000 + sysbench.tid) * 10000000
end

function thread_done()
   con:disconnect()
end

local function account()
   return sysbench.rand.uniform(1, sysbench.opt.accounts)
end

local function change(id, by)
   con:query(string.format("UPDATE accounts SET balance = balance + %d WHERE id = %d", by, id))
end

-- A name for a branch, as a manager sends it.
local function branch()
   lines = lines + 1
   return string.format("0x%016x,0x%04x,7", first_line + lines, sysbench.tid)
end

local works = {}

function works.point()
   con:query("SELECT balance FROM accounts WHERE id = " .. account())
end

-- Two accounts, the smaller number first, and a line: on up to three servers.
function works.transfer()
   local one, two = account(), account()
   if one == two then two = one % sysbench.opt.accounts + 1 end
   lines = lines + 1
   con:query("BEGIN")
   change(math.min(one, two), -1)
   change(math.max(one, two), 1)
   con:query(string.format("INSERT INTO transfers (id, payer, payee, amount) VALUES (%d, %d, %d, 1)",
      first_line + lines, one, two))
   con:query("COMMIT")
end

-- One account, without XA and with it.
works["plain"] = function()
   con:query("BEGIN")
   change(account(), 1)
   con:query("COMMIT")
end

works["one-phase"] = function()
   local name = branch()
   con:query("XA START " .. name)
   change(account(), 1)
   con:query("XA END " .. name)
   con:query("XA COMMIT " .. name .. " ONE PHASE")
end

works["xa"] = function()
   local name = branch()
   con:query("XA START " .. name)
   change(account(), 1)
   con:query("XA END " .. name)
   con:query("XA PREPARE " .. name)
   con:query("XA COMMIT " .. name)
end

function event()
   works[sysbench.opt.work]()
end

-- After an error that is passed over.
function sysbench.hooks.before_restart_event()
   con:query("ROLLBACK")
end
