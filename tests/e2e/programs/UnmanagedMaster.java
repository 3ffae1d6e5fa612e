import java.util.List;

import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** An ApplicationMaster outside of the cluster: registers, gets two containers, gives them back, finishes. */
public final class UnmanagedMaster {
  private static final int WANTED = 2;
  private static final int MOST_BEATS = 600;

  public static void main(String[] arguments) throws Exception {
    try (AMRMClient<ContainerRequest> master = AMRMClient.createAMRMClient()) {
      master.init(new YarnConfiguration());
      master.start();
      RegisterApplicationMasterResponse registered = master.registerApplicationMaster("localhost", 0, "");
      System.out.println("registered in " + registered.getQueue());
      for (int number = 0; number < WANTED; number++) {
        master.addContainerRequest(
            new ContainerRequest(Resource.newInstance(128, 1), null, null, Priority.newInstance(1)));
      }
      int held = 0;
      for (int beat = 0; held < WANTED && beat < MOST_BEATS; beat++) {
        List<Container> granted = master.allocate(0.5f).getAllocatedContainers();
        for (Container container : granted) {
          held++;
          System.out.println("granted " + container.getId());
          master.releaseAssignedContainer(container.getId());
        }
        Thread.sleep(100);
      }
      master.allocate(0.9f);
      master.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "as asked", "");
      System.out.println("held " + held);
    }
  }
}
