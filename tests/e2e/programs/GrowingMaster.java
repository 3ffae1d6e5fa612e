import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** An ApplicationMaster whose wants grow by a step each beat, as those of a job that finds out how large it is. */
public final class GrowingMaster {
  private static final int MOST_BEATS = 600;
  private static final int QUIET_BEATS = 20;

  public static void main(String[] arguments) throws Exception {
    int wanted = Integer.parseInt(arguments[0]);
    long beatMs = Long.parseLong(arguments[1]);
    int step = Integer.parseInt(arguments[2]);
    Deque<ContainerRequest> open = new ArrayDeque<>();
    int asked = 0;
    int used = 0;
    int surplus = 0;
    int quiet = 0;
    try (AMRMClient<ContainerRequest> master = AMRMClient.createAMRMClient()) {
      master.init(new YarnConfiguration());
      master.start();
      master.registerApplicationMaster("localhost", 0, "");
      for (int beat = 0; quiet < QUIET_BEATS && beat < MOST_BEATS; beat++) {
        for (int more = 0; more < step && asked < wanted; more++) {
          asked++;
          ContainerRequest request =
              new ContainerRequest(Resource.newInstance(128, 1), null, null, Priority.newInstance(1));
          master.addContainerRequest(request);
          open.add(request);
        }
        for (Container container : master.allocate(0.5f).getAllocatedContainers()) {
          if (open.isEmpty()) {
            surplus++;
            master.releaseAssignedContainer(container.getId());
          } else {
            used++;
            master.removeContainerRequest(open.remove());
          }
        }
        quiet = used == wanted ? quiet + 1 : 0;
        Thread.sleep(beatMs);
      }
      master.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "as asked", "");
      System.out.println("used " + used + " surplus " + surplus);
    }
  }
}
