-- A queue: half of the threads put jobs at its tail, the others take them from its head.
function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   takes = sysbench.tid % 2 == 1
end

function thread_done()
   con:disconnect()
end

function event()
   if takes then
      con:query("DELETE FROM queue ORDER BY id LIMIT 1")
   else
      con:query("INSERT INTO queue (made, job) VALUES (UNIX_TIMESTAMP() % 1000000, REPEAT('j', 100))")
   end
end
